/* Prints without stdio, for programs on devices, too. */
#ifndef PRINT_H
#define PRINT_H

#include <safetensors.h>

/* Where texts go. `text` has no final 0. */
typedef struct print_to {
    void (*write)(void *context, const char *text, size_t len);
    void *context;
} print_to;

static inline size_t text_len(const char *text)
{
    size_t len = 0;
    while (text[len] != 0) {
        len++;
    }
    return len;
}

static inline int text_equal(const char *a, const char *b)
{
    while (*a != 0 && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* Whether `text` contains `part`. */
static inline int text_contains(const char *text, const char *part)
{
    for (;; text++) {
        size_t same = 0;
        while (part[same] != 0 && text[same] == part[same]) {
            same++;
        }
        if (part[same] == 0) {
            return 1;
        }
        if (*text == 0) {
            return 0;
        }
    }
}

static inline void print_bytes(print_to to, const char *text, size_t len)
{
    to.write(to.context, text, len);
}

static inline void print_text(print_to to, const char *text)
{
    print_bytes(to, text, text_len(text));
}

static inline void print_number(print_to to, uint64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + (char)(number % 10));
        number /= 10;
    } while (number != 0);
    print_bytes(to, digits + at, sizeof digits - at);
}

/* Prints bytes in hexadecimal; `-` if there are none. */
static inline void print_hex(print_to to, const void *bytes, size_t len)
{
    const uint8_t *from = (const uint8_t *)bytes;
    size_t i;
    if (len == 0) {
        print_text(to, "-");
    }
    for (i = 0; i < len; i++) {
        const char digits[2] = { "0123456789abcdef"[from[i] >> 4], "0123456789abcdef"[from[i] & 15] };
        print_bytes(to, digits, 2);
    }
}

#endif
