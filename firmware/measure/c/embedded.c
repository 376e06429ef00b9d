/* Opens a model and verifies the sum that it contains. */
#include "frame.h"

uint32_t task(const struct job *job)
{
    sft_model model;
    sft_error error;
    if (open_model(&model, job, &error) != SFT_OK) {
        return FAILED;
    }
    if (job->last != OPEN && sft_verify_embedded(&model, job->window, job->window_len, &error) != SFT_OK) {
        return FAILED;
    }
    return (uint32_t)job->len;
}
