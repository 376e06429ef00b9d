/* Records a tensor and a key of the metadata in memory. */
#include "frame.h"
#include <string.h>

static int32_t write_memory(void *context, uint64_t offset, const void *bytes, size_t len)
{
    memcpy((uint8_t *)context + offset, bytes, len);
    return (int32_t)len;
}

uint32_t task(const struct job *job)
{
    static const sft_spec SPEC = { "name", SFT_U8, 1, { 128 } };
    static const sft_pair PAIR = { "key", "value" };
    const sft_sink sink = { write_memory, NULL, NULL, job->window, 1024, 1 };
    uint64_t memory[SFT_RECORDER_MEMORY(1, 1)];
    uint8_t buffer[64];
    sft_recorder recorder;
    sft_error error;
    if (sft_recorder_begin(&recorder, &sink, &SPEC, 1, &PAIR, 1, memory, sizeof memory / 8, buffer, sizeof buffer,
                           &error) != SFT_OK
        || sft_recorder_write_bytes(&recorder, job->file, 128, &error) != SFT_OK
        || sft_recorder_finish(&recorder, &error) != SFT_OK) {
        return FAILED;
    }
    return 128;
}
