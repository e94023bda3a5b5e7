import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;

/**
 * Sends messages, each awaited.
 *
 * <pre>
 * produce NAME_SERVER TOPIC GROUP COUNT SIZE
 *   compress=zlib|lz4|zstd   each body is compressed, with this codec (lz4 and zstd from 5.0 on)
 *   tag=TAG keys=KEYS property.NAME=VALUE   on each message; keys are k0, k1, ... otherwise
 *   prefix=TEXT              how bodies begin; java- otherwise
 *   goOn=true                a failed send prints {"failed": ...} and the next follows
 * </pre>
 *
 * Prints a line for each message that was acknowledged.
 */
final class Produce {
    private Produce() {
    }

    static void run(Driver driver) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer(driver.word(3));
        producer.setNamesrvAddr(driver.word(1));
        producer.setSendMsgTimeout(10_000);
        compress(producer, driver.option("compress", "none"));
        producer.start();
        try {
            boolean goOn = Boolean.parseBoolean(driver.option("goOn", "false"));
            for (int number = 0; number < driver.number(4) && !Driver.stopping(); number++) {
                Message message = message(driver, number);
                try {
                    print(producer.send(message), message);
                } catch (Exception error) {
                    if (!goOn) {
                        throw error;
                    }
                    Line.print("failed", String.valueOf(error));
                }
            }
        } finally {
            producer.shutdown();
        }
    }

    private static Message message(Driver driver, int number) {
        byte[] body = Driver.body(driver.option("prefix", "java-"), number, driver.number(5));
        Message message = new Message(driver.word(2), driver.option("tag", null), driver.option("keys", "k" + number), body);
        driver.options("property.").forEach(message::putUserProperty);
        return message;
    }

    private static void print(SendResult result, Message message) {
        Line.print("msgId", result.getMsgId(), "offsetMsgId", result.getOffsetMsgId(),
            "status", result.getSendStatus().name(), "brokerName", result.getMessageQueue().getBrokerName(),
            "queueId", result.getMessageQueue().getQueueId(), "queueOffset", result.getQueueOffset(),
            "bodyBase64", message.getBody());
    }

    private static void compress(DefaultMQProducer producer, String codec) throws Exception {
        if (codec.equals("none")) {
            return;
        }
        producer.setCompressMsgBodyOverHowmuch(1);
        if (!codec.equals("zlib")) {
            // Looked up by name so that this file compiles against 4.x too.
            Class<?> type = Class.forName("org.apache.rocketmq.common.compression.CompressionType");
            Object value = type.getMethod("of", String.class).invoke(null, codec.toUpperCase());
            producer.getClass().getMethod("setCompressType", type).invoke(producer, value);
        }
    }
}
