/* Opens a model, and does no more: the baseline of the programs that do one more thing. */
#include "frame.h"

uint32_t task(const struct job *job)
{
    sft_model model;
    sft_error error;
    return open_model(&model, job, &error) == SFT_OK ? (uint32_t)job->len : FAILED;
}
