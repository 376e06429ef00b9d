// A model in a file, read by a C++11 program: a dense layer with 8 inputs and 3 outputs.
//
//     layer model.safetensors
//
// For your model, change NET and `run`.
#include <safetensors.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

namespace {

enum { WEIGHT, SCALE, BIAS, TENSORS };

// The tensors that `run` reads. A model with another dtype or shape is an error.
const sft_request NET[TENSORS] = {
    SFT_REQUIRED("fc.weight", SFT_I8, 2, 3, 8),
    SFT_REQUIRED("fc.scale", SFT_F16 | SFT_BF16, 1, 3),
    SFT_REQUIRED("fc.bias", SFT_F32, 1, 3),
};

const std::array<float, 8> INPUTS = {{3, -1, 4, 1, -5, 9, 2, -6}};

// An exception must not leave a callback.
extern "C" int32_t read_file(void *context, uint64_t offset, void *buffer, size_t len)
{
    auto &file = *static_cast<std::ifstream *>(context);
    file.clear();
    file.seekg(static_cast<std::streamoff>(offset));
    file.read(static_cast<char *>(buffer), static_cast<std::streamsize>(len));
    return file.bad() ? -1 : static_cast<int32_t>(file.gcount());
}

// Throws the sentence of an error.
void check(sft_status status, const sft_error &error)
{
    if (status != SFT_OK) {
        char sentence[200];
        sft_error_sentence(&error, sentence, sizeof sentence);
        throw std::runtime_error(sentence);
    }
}

std::array<float, 3> run(std::ifstream &file)
{
    const sft_storage storage = sft_callbacks(read_file, &file, 0, SFT_LEN_UNKNOWN);
    sft_model model;
    sft_tensor tensors[TENSORS];
    sft_error error;
    std::array<unsigned char, 256> window;
    std::array<float, 3> scales, outputs;
    std::array<float, 8> row;

    check(sft_open(&model, &storage, NET, tensors, TENSORS, window.data(), window.size(), &error), error);
    check(sft_verify_embedded(&model, window.data(), window.size(), &error), error);
    check(sft_read_f32(&model, &tensors[SCALE], 0, scales.data(), scales.size(), &error), error);
    check(sft_read_f32(&model, &tensors[BIAS], 0, outputs.data(), outputs.size(), &error), error);
    for (size_t output = 0; output < outputs.size(); output++) {
        check(sft_read_f32(&model, &tensors[WEIGHT], 8 * output, row.data(), row.size(), &error), error);
        for (size_t input = 0; input < row.size(); input++) {
            outputs[output] += scales[output] * row[input] * INPUTS[input];
        }
    }
    return outputs;
}

} // namespace

int main(int argc, char **argv)
{
    std::ifstream file(argc == 2 ? argv[1] : "", std::ios::binary);
    if (!file) {
        std::cerr << "usage: " << argv[0] << " model.safetensors\n";
        return 2;
    }
    try {
        const auto outputs = run(file);
        std::printf("outputs in thousandths: [%d, %d, %d]\n", static_cast<int>(outputs[0] * 1000),
                    static_cast<int>(outputs[1] * 1000), static_cast<int>(outputs[2] * 1000));
    } catch (const std::exception &error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
