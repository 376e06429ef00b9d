/* Prints without stdio, for programs on devices, too. */
#ifndef PRINT_H
#define PRINT_H

#include <safetensors.h>

#include <string.h>

/* Where texts go. `text` has no final 0. */
typedef struct print_to {
    void (*write)(void *context, const char *text, size_t len);
    void *context;
} print_to;

static inline void print_bytes(print_to to, const char *text, size_t len)
{
    to.write(to.context, text, len);
}

static inline void print_text(print_to to, const char *text)
{
    print_bytes(to, text, strlen(text));
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
