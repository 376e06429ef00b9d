/* A card as the library sees one: bytes are copied, and calls may fail. */
#include "frame.h"
#include <string.h>

static int32_t read_card(void *context, uint64_t offset, void *buffer, size_t len)
{
    const struct job *job = context;
    if (offset >= job->len) {
        return 0;
    }
    if (len > job->len - offset) {
        len = job->len - (size_t)offset;
    }
    memcpy(buffer, job->file + offset, len);
    return (int32_t)len;
}

sft_storage insert_card(const struct job *job)
{
    return sft_callbacks(read_card, (void *)job, job->len, SFT_LEN_EXACT);
}
