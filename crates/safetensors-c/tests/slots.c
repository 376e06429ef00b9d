/* Updates a model in slots of a flash: with errors of its callbacks, and with offers that are rejected. */
#include "checks.h"

#define SECTOR 4096
#define HEADER "{\"a\":{\"dtype\":\"U8\",\"shape\":[5000],\"data_offsets\":[0,5000]}}     "
/* The last bytes of a model, in which its versions differ. */
#define NEW 1004
#define DEVICE "class of device"
static const sft_request A[1] = { SFT_REQUIRED("a", SFT_U8, 1, 5000) };
/* The SHA-256 of each version. */
static const char SUMS[2][33] = {
    "\x55\x60\x76\x42\xF8\x5D\x24\xD8\x82\xA1\xF0\xB7\xF9\x2D\x76\x43\x76\xD3\x33\x9A\x9C\x91\x61\xF2\xFB\x6A\x43"
    "\x60\x63\x26\x12\x2A",
    "\x11\xC4\x38\x4A\x6C\xB4\x2C\xBC\xD3\x8C\xE3\xDC\x14\x94\x16\x62\x8B\xB3\x3F\xB4\xC1\x55\x4E\xFC\x2D\x51\xE4"
    "\xB1\x67\xAB\x67\x99",
};

/* A model; its delta from version 1; its offer, which key 8 signs by repeating it. */
static struct { uint64_t header_len; char text[64 + 5000]; } file = { 64, HEADER };
static struct { uint64_t header_len; char base[32]; uint32_t from, copied, added; char data[NEW]; } delta;
static struct { char magic[4]; uint32_t key; char device[16]; uint32_t len, counter; char sum[32]; } offer[2];
#define OFFER ((uint8_t *)offer)

static void make(uint32_t version)
{
    size_t i;
    for (i = 0; i < 5000; i++) {
        file.text[64 + i] = (char)(i * 7 % 64 + (i < 5000 - NEW ? 0 : version));
    }
    memcpy(delta.base, SUMS[0], 32);
    delta.copied = sizeof file - NEW;
    delta.added = NEW;
    memcpy(delta.data, file.text + sizeof file.text - NEW, NEW);
    memcpy(offer, "stm1\10\0\0\0" DEVICE, 24);
    offer[0].len = sizeof file;
    offer[0].counter = version;
    memcpy(offer[0].sum, SUMS[version - 1], 32);
    offer[1] = offer[0];
}

static int32_t is_signed(uint32_t key, const uint8_t message[64], const uint8_t signature[64])
{
    return key == 8 && memcmp(message, signature, 64) == 0;
}

static uint8_t memory[7 * SECTOR];
/* Which callback fails: 1 for reads, 2 for writes, 3 for erasures; and whether writes do nothing. */
static int wrong, is_lost;
#define RETURNED(callback) (wrong == (callback) ? 5 : 0)

static int32_t read_ram(void *context, uint32_t from, void *bytes, size_t len)
{
    memcpy(bytes, (uint8_t *)context + from, len);
    return RETURNED(1);
}

static int32_t write_ram(void *context, uint32_t from, const void *bytes, size_t len)
{
    size_t i;
    CHECK(from % 16 == 0 && len % 16 == 0);
    for (i = 0; i < (wrong == 2 ? len / 2 : is_lost ? 0 : len); i++) {
        ((uint8_t *)context)[from + i] &= ((const uint8_t *)bytes)[i];
    }
    return RETURNED(2);
}

static int32_t erase_ram(void *context, uint32_t from, uint32_t to)
{
    CHECK(from % SECTOR == 0 && to % SECTOR == 0);
    memset((uint8_t *)context + from, 0xFF, to - from);
    return RETURNED(3);
}

static sft_flash flash = { read_ram, write_ram, erase_ram, memory, 0, sizeof memory, 3, 2 };
static sft_slots slots;
static sft_installed running, confirmed, next;
static uint8_t page[256];
static sft_tensor tensors[1];
static uint32_t from;

#define RECEIVE sft_slots_receive(&slots, OFFER, &from, ERROR)
#define PUSH(bytes, len) sft_slots_push(&slots, bytes, len, ERROR)
#define VERIFY sft_slots_verify(&slots, OFFER, (const uint8_t *)DEVICE, is_signed, A, tensors, 1, ERROR)
#define ABANDON sft_slots_abandon(&slots, ERROR)

/* Starts after a reset. */
static sft_status reset(void)
{
    sft_status status = sft_slots_begin(&slots, &flash, page, sizeof page, ERROR);
    THEN(sft_slots_start(&slots, &running, ERROR));
    THEN(sft_slots_models(&slots, &confirmed, &next, ERROR));
    return status;
}

/* Whether a model is this version, and whole. */
static int is_version(const sft_installed *it, uint32_t version)
{
    sft_storage storage = sft_installed_storage(it);
    sft_model model;
    return it->counter == version && memcmp(it->sum, SUMS[version - 1], 32) == 0
        && sft_open(&model, &storage, A, tensors, 1, page, sizeof page, ERROR) == SFT_OK
        && sft_verify_sha256(&model, it->sum, page, sizeof page, ERROR) == SFT_OK;
}

/* Receives the rest of the model or of its delta, byte by byte, and verifies the model. */
static sft_status bring(int is_delta)
{
    sft_status status = is_delta ? sft_slots_receive_delta(&slots, OFFER, &from, ERROR) : RECEIVE;
    for (; status == SFT_OK && from < (is_delta ? sizeof delta : sizeof file); from++) {
        status = PUSH((is_delta ? (char *)&delta : (char *)&file) + from, 1);
    }
    THEN(VERIFY);
    return status;
}

/* Starts, and brings a model that the next start tries. */
static sft_status update(uint32_t version, int is_delta)
{
    sft_status status = reset();
    make(version);
    THEN(bring(is_delta));
    THEN(sft_slots_try(&slots, 1, ERROR));
    return status;
}

/* An error of each callback: then the old model runs, and the update can be completed. */
static void errors_of_the_flash(void)
{
    for (wrong = 1; wrong <= 3; wrong++) {
        FAILS("storage.failed", update(2, 1));
        CHECK(error_of_call.storage == 5);
    }
    wrong = 0;
    CHECK(reset() == SFT_OK && is_version(&running, 1) && update(2, 1) == SFT_OK);
    CHECK(reset() == SFT_OK && is_version(&running, 2) && ABANDON == SFT_OK);
}

/* Offers with a wrong bit, also in their signature if they are signed; and calls that are not possible then. */
static void errors_of_the_caller(void)
{
    static const struct { const char *code; size_t at; int is_signed; } ROWS[] = {
        { "usage.offer", 0, 1 },  { "usage.signature", 4, 1 },  { "limit.slot", 26, 1 },    { "integrity.sum", 40, 1 },
        { "usage.device", 8, 1 }, { "usage.signature", 40, 0 }, { "usage.rollback", 28, 1 },
    };
    size_t i;
    for (i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        make(2);
        OFFER[ROWS[i].at] ^= 2;
        OFFER[64 + ROWS[i].at] ^= ROWS[i].is_signed ? 2 : 0;
        FAILS(ROWS[i].code, bring(0));
        FAILS("c.phase", sft_slots_try(&slots, 1, ERROR));
        PASSES(ABANDON);
    }
    make(2);
    delta.base[0] ^= 1;
    FAILS("usage.base", bring(1));
    delta.base[0] ^= 1;
    delta.from = NEW + 1;
    FAILS("delta.piece", bring(1));
    PASSES(RECEIVE);
    FAILS("c.phase", VERIFY);
    CHECK(tensors[0].dtype == 0);
    FAILS("c.phase", sft_slots_confirm(&slots, ERROR));
    PASSES(PUSH(&file, sizeof file));
    FAILS("usage.surplus", PUSH(&file, 1));
    offer[0].counter = 3;
    FAILS("usage.other-model", RECEIVE);
    is_lost = 1;
    FAILS("storage.lost", ABANDON);
    is_lost = 0;
    CHECK(reset() == SFT_OK && ABANDON == SFT_OK && update(2, 0) == SFT_OK && reset() == SFT_OK);
    CHECK(running.phase == SFT_TRIAL && running.number == 0);
    PASSES(ABANDON);
    FAILS("limit.no-slot", RECEIVE);
    PASSES(sft_slots_begin(&slots, &flash, page, 127, ERROR));
    FAILS("c.start", ABANDON);
    FAILS("limit.page", sft_slots_start(&slots, &running, ERROR));
    flash.from = 1;
    FAILS("c.layout", reset());
}

int main(void)
{
#ifdef ED25519 /* RFC 8032, the test SHA(abc): the public key, the message and its signature */
    static const char RFC[161] =
        "\xEC\x17\x2B\x93\xAD\x5E\x56\x3B\xF4\x93\x2C\x70\xE1\x24\x50\x34\xC3\x54\x67\xEF\x2E\xFD\x4D\x64\xEB\xF8\x19"
        "\x68\x34\x67\xE2\xBF\xDD\xAF\x35\xA1\x93\x61\x7A\xBA\xCC\x41\x73\x49\xAE\x20\x41\x31\x12\xE6\xFA\x4E\x89\xA9"
        "\x7E\xA2\x0A\x9E\xEE\xE6\x4B\x55\xD3\x9A\x21\x92\x99\x2A\x27\x4F\xC1\xA8\x36\xBA\x3C\x23\xA3\xFE\xEB\xBD\x45"
        "\x4D\x44\x23\x64\x3C\xE8\x0E\x2A\x9A\xC9\x4F\xA5\x4C\xA4\x9F\xDC\x2A\x44\x59\xE7\x36\x96\x33\xA5\x2B\x1B\xF2"
        "\x77\x83\x9A\x00\x20\x10\x09\xA3\xEF\xBF\x3E\xCB\x69\xBE\xA2\x18\x6C\x26\xB5\x89\x09\x35\x1F\xC9\xAC\x90\xB3"
        "\xEC\xFD\xFB\xC7\xC6\x64\x31\xE0\x30\x3D\xCA\x17\x9C\x13\x8A\xC1\x7A\xD9\xBE\xF1\x17\x73\x31\xA7\x04";
    const uint8_t *key = (const uint8_t *)RFC;
    CHECK(sft_ed25519(key, key + 32, key + 96) == 1 && sft_ed25519(key, key + 96, key + 96) == 0);
    CHECK(sft_ed25519(NULL, key + 32, key + 96) == 0);
#endif
    memset(memory, 0xFF, sizeof memory);
    PASSES(reset());
    CHECK(running.flash == NULL && next.flash == NULL);
    make(1);
    FAILS("usage.base", bring(1));
    CHECK(update(1, 0) == SFT_OK && reset() == SFT_OK && is_version(&running, 1));
    PASSES(sft_slots_confirm(&slots, ERROR));
    errors_of_the_flash();
    PASSES(reset());
    errors_of_the_caller();
    return checks_end("slots");
}
