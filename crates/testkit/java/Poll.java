import java.util.List;

import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Polls in a group, from the first offset where the group has none, and commits by hand when it ends. Releases before
 * 4.6.0 have no such consumer.
 *
 * <pre>
 * poll NAME_SERVER TOPIC GROUP COUNT IDLE_SECONDS
 * </pre>
 *
 * Prints {@code {"started": true}} and a line for each message; ends after COUNT of them or so many quiet seconds.
 */
final class Poll {
    private Poll() {
    }

    static void run(Driver driver) throws Exception {
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer(driver.word(3));
        consumer.setNamesrvAddr(driver.word(1));
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setAutoCommit(false);
        consumer.setPullBatchSize(5);
        consumer.subscribe(driver.word(2), "*");
        consumer.start();
        Line.print("started", true);
        int seen = 0;
        long last = System.currentTimeMillis();
        long idle = driver.number(5) * 1000L;
        while (!Driver.stopping() && seen < driver.number(4) && System.currentTimeMillis() - last < idle) {
            List<MessageExt> messages = consumer.poll(200);
            for (MessageExt message : messages) {
                last = System.currentTimeMillis();
                seen++;
                Line.print("msgId", message.getMsgId(), "queueId", message.getQueueId(),
                    "queueOffset", message.getQueueOffset());
            }
        }
        consumer.commitSync();
        consumer.shutdown();
    }
}
