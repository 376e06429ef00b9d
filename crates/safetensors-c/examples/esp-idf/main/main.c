/* A model in the partition `model`: `parttool.py write_partition --partition-name model --input model.safetensors`
 * writes it. */
#include "esp_log.h"
#include "esp_partition.h"
#include "safetensors.h"

static const char *TAG = "layer";

static const sft_request NET[] = {
    SFT_REQUIRED("fc.weight", SFT_I8, 2, 3, 8),
    SFT_REQUIRED("fc.scale", SFT_F16, 1, 3),
    SFT_REQUIRED("fc.bias", SFT_F32, 1, 3),
};

static int32_t read_partition(void *context, uint64_t offset, void *buffer, size_t len)
{
    const esp_partition_t *partition = context;

    if (offset >= partition->size) {
        return 0;
    }
    if (len > partition->size - offset) {
        len = partition->size - (size_t)offset;
    }
    return esp_partition_read(partition, (size_t)offset, buffer, len) == ESP_OK ? (int32_t)len : -1;
}

static sft_status load(const esp_partition_t *partition, float bias[3], sft_error *error)
{
    sft_storage flash = sft_callbacks(read_partition, (void *)partition, partition->size, SFT_LEN_AT_MOST);
    sft_model model;
    sft_tensor tensors[3];
    uint32_t window[64]; /* aligned to 4 bytes, as the flash driver likes it */
    sft_status status = sft_open(&model, &flash, NET, tensors, 3, window, sizeof window, error);

    if (status == SFT_OK) {
        status = sft_verify_embedded(&model, window, sizeof window, error);
    }
    return status == SFT_OK ? sft_read_f32(&model, &tensors[2], 0, bias, 3, error) : status;
}

void app_main(void)
{
    const esp_partition_t *partition =
        esp_partition_find_first(ESP_PARTITION_TYPE_DATA, ESP_PARTITION_SUBTYPE_ANY, "model");
    float bias[3];
    sft_error error;
    char sentence[200];

    if (partition == NULL) {
        ESP_LOGE(TAG, "the flash has no partition `model`");
    } else if (load(partition, bias, &error) != SFT_OK) {
        sft_error_sentence(&error, sentence, sizeof sentence);
        ESP_LOGE(TAG, "%s", sentence);
    } else {
        ESP_LOGI(TAG, "the bias is %f %f %f", (double)bias[0], (double)bias[1], (double)bias[2]);
    }
}
