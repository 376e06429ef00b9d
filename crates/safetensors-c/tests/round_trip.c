/* Records a file with every dtype, and reads it again in every way: `round_trip FILE`. */
#include "checks.h"

/* What a dtype holds: 4 values, as they are in the file and as numbers. */
typedef struct column {
    const char *name;
    size_t bytes;
    uint8_t data[32];
    double values[4];
} column;

#define COLUMNS 22

/* By the numbers of the dtypes' bits. */
static column columns[COLUMNS] = {
    { "BOOL", 4, { 1, 0, 1, 7 }, { 1, 0, 1, 1 } },
    { "F4", 2, { 0x42, 0xA6 }, { 1, 2, 4, -1 } },
    { "F6_E2M3", 3, { 0x08, 0x84, 0xA1 }, { 1, 2, 4, -1 } },
    { "F6_E3M2", 3, { 0x0C, 0x44, 0xB1 }, { 1, 2, 4, -1 } },
    { "U8", 4, { 1, 2, 4, 255 }, { 1, 2, 4, 255 } },
    { "I8", 4, { 1, 2, 4, 0xFF }, { 1, 2, 4, -1 } },
    { "F8_E5M2", 4, { 0x3C, 0x40, 0x44, 0xBC }, { 1, 2, 4, -1 } },
    { "F8_E4M3", 4, { 0x38, 0x40, 0x48, 0xB8 }, { 1, 2, 4, -1 } },
    { "F8_E8M0", 4, { 0x7F, 0x80, 0x81, 0x7E }, { 1, 2, 4, 0.5 } },
    { "F8_E4M3FNUZ", 4, { 0x40, 0x48, 0x50, 0xC0 }, { 1, 2, 4, -1 } },
    { "F8_E5M2FNUZ", 4, { 0x40, 0x44, 0x48, 0xC0 }, { 1, 2, 4, -1 } },
    { "I16", 8, { 1, 0, 2, 0, 4, 0, 0xFF, 0xFF }, { 1, 2, 4, -1 } },
    { "U16", 8, { 1, 0, 2, 0, 4, 0, 0xFF, 0xFF }, { 1, 2, 4, 65535 } },
    { "F16", 8, { 0, 0x3C, 0, 0x40, 0, 0x44, 0, 0xBC }, { 1, 2, 4, -1 } },
    { "BF16", 8, { 0x80, 0x3F, 0, 0x40, 0x80, 0x40, 0x80, 0xBF }, { 1, 2, 4, -1 } },
    { "I32", 16, { 0 }, { 1, 2, 4, -1 } },
    { "U32", 16, { 0 }, { 1, 2, 4, 4294967295.0 } },
    { "F32", 16, { 0 }, { 1, 2, 4, -1 } },
    { "C64", 16, { 0 }, { 1, 2, 4, -1 } },
    { "F64", 32, { 0 }, { 1, 2, 4, -1 } },
    { "I64", 32, { 0 }, { 1, 2, 4, -1 } },
    { "U64", 32, { 0 }, { 1, 2, 4, 18446744073709551615.0 } },
};

/* The values that are recorded as numbers. */
static const int32_t OF_I32[4] = { 1, 2, 4, -1 };
static const uint32_t OF_U32[4] = { 1, 2, 4, UINT32_MAX };
static const float OF_F32[4] = { 1, 2, 4, -1 };
static const double OF_F64[4] = { 1, 2, 4, -1 };
static const int64_t OF_I64[4] = { 1, 2, 4, -1 };
static const uint64_t OF_U64[4] = { 1, 2, 4, UINT64_MAX };

static void fill(void)
{
    /* Little-endian, as every computer that runs this. */
    memcpy(columns[15].data, OF_I32, 16);
    memcpy(columns[16].data, OF_U32, 16);
    memcpy(columns[17].data, OF_F32, 16);
    memcpy(columns[18].data, OF_F32, 16);
    memcpy(columns[19].data, OF_F64, 32);
    memcpy(columns[20].data, OF_I64, 32);
    memcpy(columns[21].data, OF_U64, 32);
}

#define BIT(number) (UINT32_C(1) << (number))

/* Which dtypes are exactly a number of each type, and which only when rounded. */
#define FLOATS                                                                                                  \
    (SFT_F4 | SFT_F6_E2M3 | SFT_F6_E3M2 | SFT_F8_E5M2 | SFT_F8_E4M3 | SFT_F8_E8M0 | SFT_F8_E4M3FNUZ             \
     | SFT_F8_E5M2FNUZ | SFT_F16 | SFT_BF16 | SFT_F32 | SFT_C64)
#define OF_f32 (FLOATS | SFT_BOOL | SFT_I8 | SFT_U8 | SFT_I16 | SFT_U16)
#define OF_f64 (OF_f32 | SFT_F64 | SFT_I32 | SFT_U32)
#define OF_rounded_f32 UINT32_C(0x3FFFFF)
#define OF_i8 (SFT_BOOL | SFT_I8)
#define OF_u8 (SFT_BOOL | SFT_U8)
#define OF_i16 (OF_i8 | SFT_U8 | SFT_I16)
#define OF_u16 (OF_u8 | SFT_U16)
#define OF_i32 (OF_i16 | SFT_U16 | SFT_I32)
#define OF_u32 (OF_u16 | SFT_U32)
#define OF_i64 (OF_i32 | SFT_U32 | SFT_I64)
#define OF_u64 (OF_u32 | SFT_U64)
#define LOSSY_f32 (SFT_F64 | SFT_I32 | SFT_U32 | SFT_I64 | SFT_U64)
#define LOSSY_f64 (SFT_I64 | SFT_U64)

/* The types with functions of their own: the dtypes that they can hold, and those only when rounded. */
#define NUMBERS(X) \
    X(f32, float, OF_f32, LOSSY_f32, SFT_F32) X(f64, double, OF_f64, LOSSY_f64, SFT_F64) \
    X(i8, int8_t, OF_i8, 0, SFT_I8) X(u8, uint8_t, OF_u8, 0, SFT_U8) \
    X(i16, int16_t, OF_i16, 0, SFT_I16) X(u16, uint16_t, OF_u16, 0, SFT_U16) \
    X(i32, int32_t, OF_i32, 0, SFT_I32) X(u32, uint32_t, OF_u32, 0, SFT_U32) \
    X(i64, int64_t, OF_i64, 0, SFT_I64) X(u64, uint64_t, OF_u64, 0, SFT_U64)

/* The code of the error of reading a dtype as a number. */
static const char *code_of(uint32_t dtype, uint32_t exact, uint32_t lossy)
{
    return (dtype & exact) != 0 ? "" : (dtype & lossy) != 0 ? "usage.lossy" : "usage.conversion";
}

/* Whether a number is this value; a float is it when rounded. */
#define IS(type, number, value) ((type)0.5 != 0 ? (number) == (type)(value) : (double)(number) == (value))

/* ---- Recording --------------------------------------------------------------------------------------- */

static int32_t write_file(void *context, uint64_t offset, const void *bytes, size_t len)
{
    FILE *file = (FILE *)context;
    return fseek(file, (long)offset, SEEK_SET) == 0 && fwrite(bytes, 1, len, file) == len ? (int32_t)len : -1;
}

static int32_t read_file(void *context, uint64_t offset, void *buffer, size_t len)
{
    FILE *file = (FILE *)context;
    len = fseek(file, (long)offset, SEEK_SET) == 0 ? fread(buffer, 1, len, file) : 0;
    return ferror(file) ? -1 : (int32_t)len;
}

static int32_t flush_file(void *context)
{
    return fflush((FILE *)context);
}

static const sft_pair PAIRS[2] = { { "\"\\\xC3\xA9\n", "\t\xF0\x9F\x98\x80" }, { "key", "value" } };

/* Writes a column in two pieces, as numbers if there is a function for them. */
static void record_column(sft_recorder *recorder, size_t number)
{
    const column *it = &columns[number];
#define HALVES(name, type, exact, lossy, own) \
    case own: { \
        type values[4]; \
        memcpy(values, it->data, sizeof values); \
        PASSES(sft_recorder_write_##name(recorder, values, 1, ERROR)); \
        PASSES(sft_recorder_write_##name(recorder, values + 1, 3, ERROR)); \
        break; \
    }
    switch (BIT(number)) {
    NUMBERS(HALVES)
    default:
        PASSES(sft_recorder_write_bytes(recorder, it->data, 1, ERROR));
        PASSES(sft_recorder_write_bytes(recorder, it->data + 1, it->bytes - 1, ERROR));
    }
#undef HALVES
}

static void record(FILE *file)
{
    sft_sink sink = { write_file, NULL, flush_file, file, 1 << 20, 1 };
    sft_spec specs[COLUMNS];
    static uint64_t memory[SFT_RECORDER_MEMORY(COLUMNS, 2)];
    sft_recorder recorder;
    uint8_t buffer[13];
    size_t i;
    for (i = 0; i < COLUMNS; i++) {
        /* The largest elements first. */
        size_t number = COLUMNS - 1 - i;
        const sft_spec spec = { columns[number].name, BIT(number), 1, { number == 18 ? 2 : 4 } };
        specs[i] = spec;
    }
    PASSES(sft_recorder_begin(&recorder, &sink, specs, COLUMNS, PAIRS, 2, memory,
                              sizeof memory / sizeof memory[0], buffer, sizeof buffer, ERROR));
    for (i = 0; i < COLUMNS; i++) {
        record_column(&recorder, COLUMNS - 1 - i);
    }
    PASSES(sft_recorder_finish(&recorder, ERROR));
}

/* ---- Overwriting --------------------------------------------------------------------------------------- */

static uint8_t cell[700];

static int32_t read_cell(void *context, uint64_t offset, void *buffer, size_t len)
{
    memcpy(buffer, (const uint8_t *)context + offset, len);
    return (int32_t)len;
}

/* Writes one unit, and checks that any part of it leaves the old file or none. */
static int32_t write_cell(void *context, uint64_t offset, const void *bytes, size_t len)
{
    unsigned part;
    CHECK(len == 8);
    for (part = 0; part < 256; part++) {
        uint8_t torn[sizeof cell], buffer[64];
        sft_storage storage = sft_callbacks(read_cell, torn, sizeof torn, SFT_LEN_AT_MOST);
        sft_model found;
        size_t i;
        memcpy(torn, cell, sizeof torn);
        for (i = 0; i < len; i++) {
            torn[offset + i] = part >> i & 1 ? ((const uint8_t *)bytes)[i] : torn[offset + i];
        }
        CHECK(sft_open(&found, &storage, NULL, NULL, 0, buffer, sizeof buffer, ERROR) != SFT_OK
              || memcmp(torn, context, sizeof torn) == 0);
    }
    memcpy(cell + offset, bytes, len);
    return (int32_t)len;
}

/* The data of the old file are spaces, which could continue its header. */
static void overwrite(void)
{
    static const char HEADER[] = "\x40\0\0\0\0\0\0\0"
                                 "{\"t\":{\"dtype\":\"U8\",\"shape\":[400],\"data_offsets\":[0,400]}}";
    static const sft_spec SPEC = { "t", SFT_U8, 1, { 400 } };
    static uint64_t memory[SFT_RECORDER_MEMORY(1, 0)];
    uint8_t old[sizeof cell], buffer[8];
    sft_recorder recorder;
    sft_sink sink = { write_cell, NULL, NULL, old, sizeof cell, 8 };
    memset(cell, ' ', sizeof cell);
    memcpy(cell, HEADER, sizeof HEADER - 1);
    memcpy(old, cell, sizeof old);
    PASSES(sft_recorder_begin(&recorder, &sink, &SPEC, 1, NULL, 0, memory, sizeof memory / sizeof memory[0], buffer,
                              sizeof buffer, ERROR));
}

/* ---- Reading ----------------------------------------------------------------------------------------- */

static sft_model model;
static sft_request requests[COLUMNS + 1];
static sft_tensor tensors[COLUMNS + 1];
static uint8_t window[33];

static void open_it(const sft_storage *storage)
{
    static const sft_request NONE = SFT_OPTIONAL("none", SFT_F32, 1, 4);
    char value[16];
    int found = 0;
    size_t i;
    for (i = 0; i < COLUMNS; i++) {
        const sft_request request = SFT_REQUIRED(columns[i].name, BIT(i), 1, i == 18 ? 2 : 4);
        requests[i] = request;
    }
    requests[COLUMNS] = NONE;
    PASSES(sft_open(&model, storage, requests, tensors, COLUMNS + 1, window, sizeof window, ERROR));
    CHECK(tensors[COLUMNS].dtype == 0);
    for (i = 0; i < COLUMNS; i++) {
        uint8_t bytes[32];
        CHECK(tensors[i].bytes == columns[i].bytes && tensors[i].rank == 1 && tensors[i].dtype == BIT(i));
        PASSES(sft_read_bytes(&model, &tensors[i], 0, bytes, columns[i].bytes, ERROR));
        CHECK(memcmp(bytes, columns[i].data, columns[i].bytes) == 0);
    }
    for (i = 0; i < 2; i++) {
        PASSES(sft_metadata(&model, PAIRS[i].key, value, sizeof value, &found, window, sizeof window, ERROR));
        CHECK(found == 1 && strcmp(value, PAIRS[i].value) == 0);
    }
}

#define READ(name, type, exact, lossy, own) \
    for (i = 0; i < COLUMNS; i++) { \
        const char *code = code_of(BIT(i), exact, lossy); \
        type out[4] = { 0 }, part[2] = { 0 }; \
        FAILS(code, sft_read_##name(&model, &tensors[i], 0, out, 4, ERROR)); \
        FAILS(code, sft_read_##name(&model, &tensors[i], 1, part, 2, ERROR)); \
        for (at = 0; at < 4; at++) { \
            CHECK(code[0] != 0 ? out[at] == 0 : IS(type, out[at], columns[i].values[at])); \
        } \
        CHECK(part[0] == out[1] && part[1] == out[2]); \
    }

static void read_all(void)
{
    size_t i, at;
    NUMBERS(READ)
    READ(rounded_f32, float, OF_rounded_f32, 0, 0)
}

/* ---- Receiving --------------------------------------------------------------------------------------- */

static uint8_t file_bytes[1 << 13];
static size_t file_len;

/* Gives the file to a receiver in pieces of this length. */
static sft_status push_all(sft_receiver *receiver, size_t piece)
{
    size_t at = 0;
    while (at < file_len) {
        size_t len = file_len - at < piece ? file_len - at : piece;
        sft_status status = sft_receiver_push(receiver, file_bytes + at, len, ERROR);
        if (status != SFT_OK) {
            return status;
        }
        at += len;
        CHECK((sft_receiver_remaining(receiver) == 0) == (at == file_len));
    }
    return sft_receiver_end(receiver, ERROR);
}

/* Each dtype as each type, with an optional tensor that is missing. */
#define RECEIVE(name, type, exact, lossy, own) \
    for (i = 0; i < COLUMNS; i++) { \
        const char *code = code_of(BIT(i), exact, lossy); \
        type out[4] = { 0 }, none[4] = { 0 }; \
        PASSES(sft_receiver_begin(&receiver, targets, 2, ERROR)); \
        PASSES(sft_receiver_add_##name(&receiver, &requests[COLUMNS], none, 4, ERROR)); \
        PASSES(sft_receiver_add_##name(&receiver, &requests[i], out, 4, ERROR)); \
        FAILS(code, push_all(&receiver, 1 + i)); \
        for (at = 0; at < 4; at++) { \
            CHECK(code[0] != 0 ? out[at] == 0 : IS(type, out[at], columns[i].values[at])); \
            CHECK(none[at] == 0); \
        } \
        PASSES(sft_receiver_tensor(&receiver, 0, &tensor, ERROR)); \
        CHECK(tensor.dtype == 0); \
        PASSES(sft_receiver_tensor(&receiver, 1, &tensor, ERROR)); \
        CHECK(code[0] != 0 || (tensor.dtype == BIT(i) && tensor.offset == tensors[i].offset)); \
    }

static void receive_each(void)
{
    sft_receiver receiver;
    sft_target targets[2];
    sft_tensor tensor;
    size_t i, at;
    NUMBERS(RECEIVE)
}

/* All tensors as bytes; then with one more that must exist. */
static void receive_all(void)
{
    static sft_target targets[COLUMNS + 1];
    static uint8_t bytes[COLUMNS + 1][32];
    static const sft_request MISSING = SFT_REQUIRED("missing", SFT_F32, 1, 4);
    sft_receiver receiver;
    size_t i;
    PASSES(sft_receiver_begin(&receiver, targets, COLUMNS, ERROR));
    for (i = 0; i < COLUMNS; i++) {
        PASSES(sft_receiver_add_bytes(&receiver, &requests[i], bytes[i], columns[i].bytes, ERROR));
    }
    PASSES(push_all(&receiver, 7));
    for (i = 0; i < COLUMNS; i++) {
        CHECK(memcmp(bytes[i], columns[i].data, columns[i].bytes) == 0);
    }
    memset(bytes, 0, sizeof bytes);
    PASSES(sft_receiver_begin(&receiver, targets, COLUMNS + 1, ERROR));
    for (i = 0; i < COLUMNS; i++) {
        PASSES(sft_receiver_add_bytes(&receiver, &requests[i], bytes[i], columns[i].bytes, ERROR));
    }
    PASSES(sft_receiver_add_bytes(&receiver, &MISSING, bytes[COLUMNS], 16, ERROR));
    FAILS("usage.missing", push_all(&receiver, 7));
    CHECK(error_of_call.request == COLUMNS);
    for (i = 0; i < COLUMNS; i++) {
        CHECK(bytes[i][0] == 0);
    }
}

int main(int argc, char **argv)
{
    FILE *file = argc == 2 ? fopen(argv[1], "w+b") : NULL;
    sft_storage storage;
    if (file == NULL) {
        fputs("usage: round_trip FILE\n", stderr);
        return 2;
    }
    fill();
    overwrite();
    record(file);
    storage = sft_callbacks(read_file, file, 0, SFT_LEN_UNKNOWN);
    open_it(&storage);
    read_all();
    rewind(file);
    file_len = fread(file_bytes, 1, sizeof file_bytes, file);
    fclose(file);
    CHECK(file_len > 1000 && file_len < sizeof file_bytes);
    /* The same from memory. */
    storage = sft_memory(file_bytes, file_len);
    open_it(&storage);
    read_all();
    receive_each();
    receive_all();
    return checks_end("round trip");
}
