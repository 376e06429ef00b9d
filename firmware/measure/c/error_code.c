/* Opens a model, and prints the code of an error. */
#include "frame.h"

uint32_t task(const struct job *job)
{
    sft_model model;
    sft_error error;
    char code[SFT_CODE_LEN];
    if (open_model(&model, job, &error) != SFT_OK) {
        print(code, sft_error_code(&error, code, sizeof code));
        print("\n", 1);
        return FAILED;
    }
    return (uint32_t)job->len;
}
