/* Judges a pack in the memory of a device without files. */
#include "judge.h"

#include <semihost.h>
#include <string.h>

/* Where QEMU loads the pack, and how much memory is there. */
#ifdef __arm__
#define PACK ((const uint8_t *)0x21000000)
#else
#define PACK ((const uint8_t *)0x81000000)
#endif
#define PACK_LEN (UINT32_C(16) << 20)

static int32_t read_pack(void *context, uint64_t offset, void *buffer, size_t len)
{
    (void)context;
    if (offset >= PACK_LEN) {
        return 0;
    }
    if (len > PACK_LEN - offset) {
        len = PACK_LEN - (size_t)offset;
    }
    memcpy(buffer, PACK + offset, len);
    return (int32_t)len;
}

/* Prints whole lines: each call of the debugger takes time. */
static void print_line(void *context, const char *text, size_t len)
{
    static char line[256];
    static size_t used = 0;
    size_t i;
    (void)context;
    for (i = 0; i < len; i++) {
        line[used++] = text[i];
        if (text[i] == '\n' || used == sizeof line - 1) {
            line[used] = 0;
            sys_semihost_write0(line);
            used = 0;
        }
    }
}

int main(void)
{
    const sft_storage storage = sft_callbacks(read_pack, NULL, 0, SFT_LEN_UNKNOWN);
    const print_to to = { print_line, NULL };
    return judge_pack(to, &storage, NULL);
}
