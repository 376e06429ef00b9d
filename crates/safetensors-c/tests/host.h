/* What the judges need on a computer: a file by its path, and standard output. */
#ifndef HOST_H
#define HOST_H

#include "print.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static inline int32_t host_read(void *context, uint64_t offset, void *buffer, size_t len)
{
    FILE *file = (FILE *)context;
    if (offset > LONG_MAX) {
        return 0;
    }
    if (fseek(file, (long)offset, SEEK_SET) != 0) {
        return -1;
    }
    len = fread(buffer, 1, len, file);
    return ferror(file) ? -1 : (int32_t)len;
}

/* Opens a file; ends the program if there is none. */
static inline sft_storage host_storage(const char *path)
{
    FILE *file = path == NULL ? NULL : fopen(path, "rb");
    if (file == NULL) {
        fputs("usage: PROGRAM PACK\n", stderr);
        exit(2);
    }
    return sft_callbacks(host_read, file, 0, SFT_LEN_UNKNOWN);
}

static inline void host_write(void *context, const char *text, size_t len)
{
    (void)context;
    fwrite(text, 1, len, stdout);
}

static inline print_to host_print(void)
{
    print_to to = { host_write, NULL };
    return to;
}

#endif
