import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Consumes in a group, concurrently, from the first offset.
 *
 * <pre>
 * consume NAME_SERVER TOPIC GROUP COUNT IDLE_SECONDS
 *   tags=EXPRESSION   * otherwise
 *   failFirst=N       each message is refused N times
 *   pop=true         the broker says which queues, and in which mode; from 5.0 on
 *   instance=NAME     tells apart several members on one machine
 * </pre>
 *
 * Prints {@code {"started": true}} and a line for each message; ends after COUNT of them or so many quiet seconds.
 */
final class Consume {
    private Consume() {
    }

    static void run(Driver driver) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(driver.word(3));
        consumer.setNamesrvAddr(driver.word(1));
        consumer.setInstanceName(driver.option("instance", consumer.getInstanceName()));
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(driver.word(2), driver.option("tags", "*"));
        if (Boolean.parseBoolean(driver.option("pop", "false"))) {
            // Not there in 4.x.
            DefaultMQPushConsumer.class.getMethod("setClientRebalance", boolean.class).invoke(consumer, false);
        }
        int failFirst = Integer.parseInt(driver.option("failFirst", "0"));
        AtomicInteger seen = new AtomicInteger();
        AtomicLong last = new AtomicLong(System.currentTimeMillis());
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            last.set(System.currentTimeMillis());
            for (MessageExt message : messages) {
                if (message.getReconsumeTimes() < failFirst) {
                    return ConsumeConcurrentlyStatus.RECONSUME_LATER;
                }
                print(message);
                seen.incrementAndGet();
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        Line.print("started", true);
        long idle = driver.number(5) * 1000L;
        while (!Driver.stopping() && seen.get() < driver.number(4) && System.currentTimeMillis() - last.get() < idle) {
            Thread.sleep(20);
        }
        consumer.shutdown();
    }

    private static void print(MessageExt message) {
        Line.print("topic", message.getTopic(), "msgId", message.getMsgId(),
            "queueId", message.getQueueId(), "queueOffset", message.getQueueOffset(),
            "tags", message.getTags(), "keys", message.getKeys(),
            "reconsumeTimes", message.getReconsumeTimes(),
            "bornTimestamp", message.getBornTimestamp(), "storeTimestamp", message.getStoreTimestamp(),
            "properties", new TreeMap<>(message.getProperties()),
            "bodyBase64", message.getBody());
    }
}
