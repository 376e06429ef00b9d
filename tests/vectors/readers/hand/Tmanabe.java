// tmanabe/safetensors-java: SafetensorsViewer.load, and the data of each tensor. Without -ea, as Java runs by itself.
import io.github.tmanabe.SafetensorsViewer;
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.stream.Collectors;

class Tmanabe {
    static String word(String text) { return HexFormat.of().formatHex(text.getBytes(StandardCharsets.UTF_8)); }
    public static void main(String[] args) throws IOException {
        BufferedReader paths = new BufferedReader(new InputStreamReader(System.in));
        for (String path; (path = paths.readLine()) != null; System.out.flush()) try {
            StringBuilder answer = new StringBuilder();
            SafetensorsViewer file = SafetensorsViewer.load(new File(path));
            file.getHeader().forEach((name, t) -> {
                byte[] data = new byte[file.getByteBuffer(name).remaining()];
                file.getByteBuffer(name).get(data);
                String shape = t.getShape().stream().map(String::valueOf).collect(Collectors.joining(","));
                answer.append("tensor %s %s %s %s\n".formatted(word(name), word(t.getDtype()), shape, HexFormat.of().formatHex(data)));
            });
            System.out.print(answer.append("ok\n"));
        } catch (Exception error) {
            System.out.println("error " + word(error.toString()));
        }
    }
}
