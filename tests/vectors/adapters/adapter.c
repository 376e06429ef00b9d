/* cc -g -fsanitize=address,undefined adapter.c -o adapter && python3 run.py --batch -- ./adapter
   Replace the call of read_tensors by one of your reader, and print its tensors in the same way. */
#include <stdio.h>
#include <string.h>

static void quoted(const char *text, size_t length) { /* the text must be UTF-8, and may have NUL */
  for (putchar('"'); length--; text++)
    if (*text == '"' || *text == '\\' || (unsigned char)*text < 32) printf("\\u%04x", *text);
    else putchar(*text);
  putchar('"');
}
static const char *read_tensors(const char *path) { /* returns why it rejects the file; knows only files with one vector */
  static char header[65536]; char name[64], dtype[16]; unsigned long long shape, begin, end; int all = 0;
  FILE *file = fopen(path, "rb"); size_t length = file ? fread(header, 1, sizeof header - 1, file) : 0;
  if (file) fclose(file);
  header[length] = 0;
  if (length < 8 || sscanf(header + 8, "{\"%63[^\"\\]\":{\"dtype\":\"%15[A-Z0-9_]\",\"shape\":[%llu],\"data_offsets\":[%llu,%llu]}%n",
      name, dtype, &shape, &begin, &end, &all) != 5 || !all) return "not one vector";
  fputs("{\"tensors\":{", stdout); quoted(name, strlen(name)); fputs(":{\"dtype\":", stdout); quoted(dtype, strlen(dtype));
  printf(",\"shape\":[%llu],\"data_offsets\":[%llu,%llu]}}}", shape, begin, end);
  return NULL;
}
int main(void) {
  for (char path[4096]; fgets(path, sizeof path, stdin); putchar('\n'), fflush(stdout)) {
    path[strcspn(path, "\n")] = 0;
    const char *why = read_tensors(path);
    if (why) { fputs("{\"error\":", stdout); quoted(why, strlen(why)); putchar('}'); }
  }
}
