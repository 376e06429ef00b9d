/* As `together`, but reads the tensor as floats, 16 at a time. */
#include "frame.h"

uint32_t task(const struct job *job)
{
    const sft_request request = request_any(job->name);
    sft_model model;
    sft_tensor tensor;
    sft_error error;
    float values[16];
    uint64_t done = 0;

    if (open_with(&model, job, &request, &tensor, &error) != SFT_OK) {
        return FAILED;
    }
    while (done < tensor.elements) {
        uint64_t left = tensor.elements - done;
        size_t count = left < 16 ? (size_t)left : 16;
        if (sft_read_f32(&model, &tensor, done, values, count, &error) != SFT_OK) {
            return FAILED;
        }
        done += count;
    }
    return (uint32_t)tensor.bytes;
}
