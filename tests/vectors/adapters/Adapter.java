// javac Adapter.java && python3 run.py --batch -- java -cp ./ Adapter
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.regex.*;

class Adapter {
    // Replace the body by a call of your reader. It returns the tensors as JSON, and throws where it rejects a file.
    static String read(String path) throws Exception {
        String text = Files.readString(Path.of(path)); // knows only files with one vector
        Matcher m = Pattern.compile("\\{\"([^\"\\\\]*)\":\\{\"dtype\":\"(\\w+)\",\"shape\":\\[(\\d+)\\],\"data_offsets\":\\[(\\d+),(\\d+)\\]\\}\\}").matcher(text);
        if (!m.find()) throw new IOException("not one vector");
        return quoted(m.group(1)) + ":{\"dtype\":" + quoted(m.group(2)) + ",\"shape\":[" + m.group(3) + "],\"data_offsets\":[" + m.group(4) + "," + m.group(5) + "]}";
    }
    static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        text.chars().forEach(c -> out.append(c == '"' || c == '\\' || c < 32 ? String.format("\\u%04x", c) : "" + (char) c));
        return out + "\"";
    }
    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader paths = new BufferedReader(new InputStreamReader(System.in));
        for (String path; (path = paths.readLine()) != null; ) {
            try { out.println("{\"tensors\":{" + read(path) + "}}"); }
            catch (Exception error) { out.println("{\"error\":" + quoted(String.valueOf(error)) + "}"); }
        }
    }
}
