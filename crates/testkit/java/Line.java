import java.util.Base64;
import java.util.Map;

/** Prints JSON objects, one a line; lines of several threads do not mix. */
final class Line {
    private Line() {
    }

    /** Prints one object of names and values in turn: numbers, booleans, maps, texts, bytes (as base64), null. */
    static void print(Object... pairs) {
        StringBuilder out = new StringBuilder("{");
        for (int at = 0; at < pairs.length; at += 2) {
            if (at > 0) {
                out.append(',');
            }
            text(out, (String) pairs[at]);
            out.append(':');
            value(out, pairs[at + 1]);
        }
        System.out.println(out.append('}'));
    }

    private static void value(StringBuilder out, Object value) {
        if (value == null || value instanceof Number || value instanceof Boolean) {
            out.append(value);
        } else if (value instanceof Map) {
            String comma = "";
            out.append('{');
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                out.append(comma);
                comma = ",";
                text(out, String.valueOf(entry.getKey()));
                out.append(':');
                value(out, entry.getValue());
            }
            out.append('}');
        } else if (value instanceof byte[]) {
            text(out, Base64.getEncoder().encodeToString((byte[]) value));
        } else {
            text(out, String.valueOf(value));
        }
    }

    private static void text(StringBuilder out, String text) {
        out.append('"');
        for (int at = 0; at < text.length(); at++) {
            char character = text.charAt(at);
            if (character == '"' || character == '\\') {
                out.append('\\').append(character);
            } else if (character < ' ') {
                out.append(String.format("\\u%04x", (int) character));
            } else {
                out.append(character);
            }
        }
        out.append('"');
    }
}
