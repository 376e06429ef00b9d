/* A model in the flash partition `storage_partition` of the board's devicetree. */
#include <safetensors.h>
#include <zephyr/kernel.h>
#include <zephyr/storage/flash_map.h>

static const sft_request NET[] = {
    SFT_REQUIRED("fc.weight", SFT_I8, 2, 3, 8),
    SFT_REQUIRED("fc.scale", SFT_F16, 1, 3),
    SFT_REQUIRED("fc.bias", SFT_F32, 1, 3),
};

static int32_t read_area(void *context, uint64_t offset, void *buffer, size_t len)
{
    const struct flash_area *area = context;

    if (offset >= area->fa_size) {
        return 0;
    }
    if (len > area->fa_size - offset) {
        len = area->fa_size - (size_t)offset;
    }
    return flash_area_read(area, (off_t)offset, buffer, len) == 0 ? (int32_t)len : -1;
}

static sft_status load(const struct flash_area *area, float bias[3], sft_error *error)
{
    sft_storage flash = sft_callbacks(read_area, (void *)area, area->fa_size, SFT_LEN_AT_MOST);
    sft_model model;
    sft_tensor tensors[3];
    uint32_t window[64]; /* aligned to 4 bytes, as flash drivers like it */
    sft_status status = sft_open(&model, &flash, NET, tensors, 3, window, sizeof window, error);

    if (status == SFT_OK) {
        status = sft_verify_embedded(&model, window, sizeof window, error);
    }
    return status == SFT_OK ? sft_read_f32(&model, &tensors[2], 0, bias, 3, error) : status;
}

int main(void)
{
    const struct flash_area *area;
    float bias[3];
    sft_error error;
    char sentence[200];

    if (flash_area_open(FIXED_PARTITION_ID(storage_partition), &area) != 0) {
        printk("the board has no storage partition\n");
    } else if (load(area, bias, &error) != SFT_OK) {
        sft_error_sentence(&error, sentence, sizeof sentence);
        printk("%s\n", sentence);
    } else {
        printk("the bias in thousandths: %d %d %d\n", (int)(bias[0] * 1000), (int)(bias[1] * 1000),
               (int)(bias[2] * 1000));
    }
    return 0;
}
