import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Runs Apache's Java client for the tests: an order on the command line, one JSON object a line on standard output.
 *
 * <p>Each order is a class of its own, with its words and options in its head. A word with an equals sign is an option.
 * SIGTERM ends an order as its client wants to be ended. A failure prints {@code {"error": ...}} and exits with 1.
 */
public final class Driver {
    private static final CountDownLatch ENDED = new CountDownLatch(1);
    private static volatile boolean stopping;

    private final List<String> words = new ArrayList<>();
    private final Map<String, String> options = new TreeMap<>();

    private Driver(String[] args) {
        for (String arg : args) {
            int equals = arg.indexOf('=');
            if (equals > 0) {
                options.put(arg.substring(0, equals), arg.substring(equals + 1));
            } else {
                words.add(arg);
            }
        }
    }

    public static void main(String[] args) {
        Runtime.getRuntime().addShutdownHook(new Thread(Driver::stop));
        int code = 0;
        try {
            Driver driver = new Driver(args);
            switch (driver.word(0)) {
                case "produce": Produce.run(driver); break;
                case "consume": Consume.run(driver); break;
                // Not every release has its consumer.
                case "poll": Class.forName("Poll").getDeclaredMethod("run", Driver.class).invoke(null, driver); break;
                default: throw new IllegalArgumentException("there is no order " + driver.word(0));
            }
        } catch (Throwable error) {
            Line.print("error", String.valueOf(error));
            code = 1;
        }
        System.out.flush();
        ENDED.countDown();
        System.exit(code);
    }

    private static void stop() {
        stopping = true;
        try {
            ENDED.await(20, TimeUnit.SECONDS);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    /** Whether the program was asked to end. */
    static boolean stopping() {
        return stopping;
    }

    String word(int number) {
        return words.get(number);
    }

    int number(int number) {
        return Integer.parseInt(words.get(number));
    }

    String option(String name, String otherwise) {
        return options.getOrDefault(name, otherwise);
    }

    /** The options whose names begin with this, without it. */
    Map<String, String> options(String prefix) {
        Map<String, String> found = new TreeMap<>();
        options.forEach((name, value) -> {
            if (name.startsWith(prefix)) {
                found.put(name.substring(prefix.length()), value);
            }
        });
        return found;
    }

    /** A body of so many bytes that tells its number. */
    static byte[] body(String prefix, int number, int size) {
        StringBuilder body = new StringBuilder(prefix).append(number).append('-');
        while (body.length() < size) {
            body.append((char) ('a' + body.length() % 26));
        }
        return body.toString().getBytes(StandardCharsets.UTF_8);
    }
}
