/* A model in flash, read by a C program: a dense layer with 8 inputs and 3 outputs.
 *
 * For your board, replace `read_flash` by the driver of your flash chip, and the addresses in the Makefile. For
 * your model, change NET and `run`.
 */
#include <safetensors.h>
#include <stdio.h>
#include <string.h>

/* The tensors that `run` reads. A model with another dtype or shape is an error. */
enum { WEIGHT, SCALE, BIAS, TENSORS };
static const sft_request NET[TENSORS] = {
    SFT_REQUIRED("fc.weight", SFT_I8, 2, 3, 8),
    SFT_REQUIRED("fc.scale", SFT_F16, 1, 3),
    SFT_REQUIRED("fc.bias", SFT_F32, 1, 3),
};

static const float INPUTS[8] = { 3, -1, 4, 1, -5, 9, 2, -6 }; /* for your sensor's samples */

/* Replaces the flash: the linker puts the model into the program. It may be followed by anything. */
extern const unsigned char model_begin[], model_end[];

static int32_t read_flash(void *context, uint64_t offset, void *buffer, size_t len)
{
    const size_t size = (size_t)(model_end - model_begin);
    (void)context;
    if (offset >= size) {
        return 0;
    }
    if (len > size - offset) {
        len = size - (size_t)offset;
    }
    memcpy(buffer, model_begin + offset, len);
    return (int32_t)len;
}

static sft_status run(float outputs[3], sft_error *error)
{
    sft_storage flash = sft_callbacks(read_flash, NULL, (uint64_t)(model_end - model_begin), SFT_LEN_AT_MOST);
    sft_model model;
    sft_tensor tensors[TENSORS];
    unsigned char window[256];
    float scales[3], row[8];
    sft_status status = sft_open(&model, &flash, NET, tensors, TENSORS, window, sizeof window, error);

    if (status == SFT_OK) { /* one flipped bit in a weight is an error */
        status = sft_verify_embedded(&model, window, sizeof window, error);
    }
    if (status == SFT_OK) {
        status = sft_read_f32(&model, &tensors[SCALE], 0, scales, 3, error);
    }
    if (status == SFT_OK) {
        status = sft_read_f32(&model, &tensors[BIAS], 0, outputs, 3, error);
    }
    for (unsigned output = 0; status == SFT_OK && output < 3; output++) {
        status = sft_read_f32(&model, &tensors[WEIGHT], 8 * output, row, 8, error); /* I8 in flash */
        for (unsigned input = 0; status == SFT_OK && input < 8; input++) {
            outputs[output] += scales[output] * row[input] * INPUTS[input];
        }
    }
    return status;
}

int main(void)
{
    float outputs[3];
    sft_error error;
    char code[SFT_CODE_LEN];

    if (run(outputs, &error) != SFT_OK) {
        sft_error_code(&error, code, sizeof code);
        printf("%s: error[%s] at byte %lu\n", error.request < 0 ? "the model" : NET[error.request].name, code,
               (unsigned long)error.at);
        return 1;
    }
    printf("outputs in thousandths: [%d, %d, %d]\n", (int)(outputs[0] * 1000), (int)(outputs[1] * 1000),
           (int)(outputs[2] * 1000));
    return 0;
}
