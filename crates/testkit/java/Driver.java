import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Runs Apache's Java client for the tests: orders on the command line, one JSON object a line on standard output.
 *
 * <pre>
 * produce NAME_SERVER TOPIC GROUP COUNT SIZE [key=value ...]    options: tag, keys, compress (zlib, lz4, zstd), prefix
 * consume NAME_SERVER TOPIC GROUP COUNT IDLE_SECONDS [key=value ...]    options: tags, failFirst
 * </pre>
 */
public final class Driver {
    private static final StringBuilder OUT = new StringBuilder();

    public static void main(String[] args) {
        try {
            Map<String, String> options = new TreeMap<>();
            List<String> words = new ArrayList<>();
            for (String arg : args) {
                int equals = arg.indexOf('=');
                if (equals > 0) {
                    options.put(arg.substring(0, equals), arg.substring(equals + 1));
                } else {
                    words.add(arg);
                }
            }
            switch (words.get(0)) {
                case "produce": produce(words, options); break;
                case "consume": consume(words, options); break;
                default: throw new IllegalArgumentException(words.get(0));
            }
            System.out.flush();
            System.exit(0);
        } catch (Throwable error) {
            line("error", String.valueOf(error));
            System.out.flush();
            System.exit(1);
        }
    }

    private static void produce(List<String> words, Map<String, String> options) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer(words.get(3));
        producer.setNamesrvAddr(words.get(1));
        producer.setSendMsgTimeout(10_000);
        String compress = options.get("compress");
        if (compress != null) {
            producer.setCompressMsgBodyOverHowmuch(1);
            if (!compress.equals("zlib")) {
                // From 5.0 on; looked up by name so that this file compiles against 4.x too.
                Class<?> type = Class.forName("org.apache.rocketmq.common.compression.CompressionType");
                Object value = type.getMethod("of", String.class).invoke(null, compress.toUpperCase());
                producer.getClass().getMethod("setCompressType", type).invoke(producer, value);
            }
        }
        producer.start();
        int count = Integer.parseInt(words.get(4));
        int size = Integer.parseInt(words.get(5));
        for (int number = 0; number < count; number++) {
            StringBuilder body = new StringBuilder(options.getOrDefault("prefix", "java-")).append(number).append('-');
            while (body.length() < size) {
                body.append((char) ('a' + body.length() % 26));
            }
            Message message = new Message(words.get(2), options.get("tag"), options.getOrDefault("keys", "k" + number),
                body.toString().getBytes("UTF-8"));
            SendResult result = producer.send(message);
            line("msgId", result.getMsgId(), "offsetMsgId", result.getOffsetMsgId(),
                "status", result.getSendStatus().name(), "brokerName", result.getMessageQueue().getBrokerName(),
                "queueId", (long) result.getMessageQueue().getQueueId(), "queueOffset", result.getQueueOffset(),
                "bodyBase64", Base64.getEncoder().encodeToString(body.toString().getBytes("UTF-8")));
        }
        producer.shutdown();
    }

    private static void consume(List<String> words, Map<String, String> options) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(words.get(3));
        consumer.setNamesrvAddr(words.get(1));
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(words.get(2), options.getOrDefault("tags", "*"));
        int wanted = Integer.parseInt(words.get(4));
        long idle = Long.parseLong(words.get(5)) * 1000;
        int failFirst = Integer.parseInt(options.getOrDefault("failFirst", "0"));
        AtomicInteger seen = new AtomicInteger();
        AtomicLong last = new AtomicLong(System.currentTimeMillis());
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            last.set(System.currentTimeMillis());
            for (MessageExt message : messages) {
                if (message.getReconsumeTimes() < failFirst) {
                    return ConsumeConcurrentlyStatus.RECONSUME_LATER;
                }
                line("topic", message.getTopic(), "msgId", message.getMsgId(),
                    "queueId", (long) message.getQueueId(), "queueOffset", message.getQueueOffset(),
                    "tags", message.getTags(), "keys", message.getKeys(),
                    "reconsumeTimes", (long) message.getReconsumeTimes(),
                    "properties", new TreeMap<>(message.getProperties()),
                    "bodyBase64", Base64.getEncoder().encodeToString(message.getBody()));
                seen.incrementAndGet();
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        line("started", true);
        while (seen.get() < wanted && System.currentTimeMillis() - last.get() < idle) {
            Thread.sleep(20);
        }
        consumer.shutdown();
    }

    private static synchronized void line(Object... pairs) {
        OUT.setLength(0);
        OUT.append('{');
        for (int at = 0; at < pairs.length; at += 2) {
            if (at > 0) {
                OUT.append(',');
            }
            text((String) pairs[at]);
            OUT.append(':');
            value(pairs[at + 1]);
        }
        System.out.println(OUT.append('}'));
    }

    private static void value(Object value) {
        if (value == null || value instanceof Number || value instanceof Boolean) {
            OUT.append(value);
        } else if (value instanceof Map) {
            OUT.append('{');
            boolean first = true;
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                if (!first) {
                    OUT.append(',');
                }
                first = false;
                text(String.valueOf(entry.getKey()));
                OUT.append(':');
                value(entry.getValue());
            }
            OUT.append('}');
        } else {
            text(String.valueOf(value));
        }
    }

    private static void text(String text) {
        OUT.append('"');
        for (int at = 0; at < text.length(); at++) {
            char character = text.charAt(at);
            if (character == '"' || character == '\\') {
                OUT.append('\\').append(character);
            } else if (character < ' ') {
                OUT.append(String.format("\\u%04x", (int) character));
            } else {
                OUT.append(character);
            }
        }
        OUT.append('"');
    }
}
