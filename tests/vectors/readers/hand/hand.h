/* What the adapters of readers in C and C++ share. Public domain (CC0-1.0). */
#include <stdio.h>
#include <string.h>

static void word(const void *bytes, size_t length) { /* in hexadecimal, with a space before it */
  putchar(' ');
  for (size_t i = 0; i < length; i++) printf("%02x", ((const unsigned char *)bytes)[i]);
}
static void words(const char *kind, const void *first, size_t length, const void *second, size_t other) {
  fputs(kind, stdout), word(first, length), word(second, other);
}
static void error(const char *why) {
  fputs("error", stdout), word(why, strlen(why)), putchar('\n');
}
static int next(char path[4096]) { /* whether another file is asked for, after the answer to the last one */
  fflush(stdout);
  return fgets(path, 4096, stdin) && (path[strcspn(path, "\n")] = 0, 1);
}
