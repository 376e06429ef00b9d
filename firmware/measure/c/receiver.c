/* Receives a tensor of a model that arrives in pieces. */
#include "frame.h"

uint32_t task(const struct job *job)
{
    const sft_request request = request_any(job->name);
    sft_receiver receiver;
    sft_target target;
    sft_error error;
    uint8_t bytes[128];

    if (sft_receiver_begin(&receiver, &target, 1, &error) != SFT_OK
        || sft_receiver_add_bytes(&receiver, &request, bytes, sizeof bytes, &error) != SFT_OK) {
        return FAILED;
    }
    for (size_t at = 0; at < job->len; at += job->window_len) {
        size_t left = job->len - at;
        size_t len = left < job->window_len ? left : job->window_len;
        if (sft_receiver_push(&receiver, job->file + at, len, &error) != SFT_OK) {
            return FAILED;
        }
    }
    return sft_receiver_end(&receiver, &error) == SFT_OK ? sizeof bytes : FAILED;
}
