/* Mistakes of callers: each is an error with its code, and none is undefined behaviour. */
#include "checks.h"

/* A file with the tensors "a" (F32, 2 elements: 1 and 2) and "b" (I8, 3 elements: -1, 0 and 1), and metadata. */
static const char HEADER[] = "{\"__metadata__\":{\"key\":\"value\"},"
                             "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                             "\"b\":{\"dtype\":\"I8\",\"shape\":[3],\"data_offsets\":[8,11]}}";
#define HEADER_LEN (sizeof HEADER - 1)
#define FILE_LEN (8 + HEADER_LEN + 11)
#define DATA (8 + HEADER_LEN)
static uint8_t file[FILE_LEN];

static void make_file(void)
{
    static const uint8_t data[11] = { 0, 0, 0x80, 0x3F, 0, 0, 0, 0x40, 0xFF, 0, 1 };
    file[0] = (uint8_t)HEADER_LEN;
    memcpy(file + 8, HEADER, HEADER_LEN);
    memcpy(file + DATA, data, sizeof data);
}

static const sft_request A = SFT_REQUIRED("a", SFT_F32, 1, 2);
static const sft_request B = SFT_REQUIRED("b", SFT_I8, 1, SFT_ANY_SIZE);
static sft_request both[2];

/* Memory that the calls share. */
static uint8_t window[64];
static char text[64];
static sft_slot slots[4];

/* Calls the next function, if all before it have succeeded. */
#define THEN(call) status = status != SFT_OK ? status : (call)

/* A pointer that is not aligned, inside of an array of two. */
#define ASKEW(type, array) ((type *)(void *)((char *)(void *)(array) + 1))

static const char NOT_UTF8[] = "a\xFF";

/* ---- Storage that does something wrong --------------------------------------------------------------- */

typedef struct device {
    /* The call that does it, counted from 1; 0 for none. */
    int wrong_call;
    int calls;
    enum { FAIL, TOO_MANY, MOST, NOTHING, LEAST, CALL_BACK } how;
    /* For CALL_BACK. */
    void (*call)(void *object);
    void *object;
} device;

static int32_t read_device(void *context, uint64_t offset, void *buffer, size_t len)
{
    device *it = (device *)context;
    if (++it->calls == it->wrong_call || it->wrong_call < 0) {
        switch (it->how) {
        case FAIL:
            return -7;
        case TOO_MANY:
            return (int32_t)len + 1;
        case MOST:
            return INT32_MAX;
        case LEAST:
            return INT32_MIN;
        case NOTHING:
            return 0;
        case CALL_BACK:
            it->call(it->object);
        }
    }
    if (offset >= FILE_LEN) {
        return 0;
    }
    len = len > FILE_LEN - offset ? (size_t)(FILE_LEN - offset) : len;
    memcpy(buffer, file + offset, len);
    return (int32_t)len;
}

static sft_storage storage_of(device *it)
{
    return sft_callbacks(read_device, it, FILE_LEN, SFT_LEN_EXACT);
}

/* ---- Errors ------------------------------------------------------------------------------------------ */

static void error_texts(void)
{
    sft_error error, garbage;
    sft_error two[2];
    char small[8];
    sft_model model;
    char *none = NULL;
    memset(&garbage, 0xA5, sizeof garbage);
    CHECK(sft_open(NULL, NULL, NULL, NULL, 0, NULL, 0, &error) == SFT_USAGE);
    CHECK(error.request == -1 && error.storage == 0 && error.at == 0);
    CHECK(sft_error_code(&error, text, sizeof text) == 6 && strcmp(text, "c.null") == 0);
    CHECK(sft_error_code(&error, none, 0) == 6);
    CHECK(sft_error_code(&error, none, 5) == 0);
    CHECK(sft_error_code(&error, text, 0) == 6 && strcmp(text, "c.null") == 0);
    CHECK(sft_error_code(&error, text, 1) == 6 && text[0] == 0 && text[1] == '.');
    memset(small, 'x', sizeof small);
    CHECK(sft_error_code(&error, small, 7) == 6 && strcmp(small, "c.null") == 0 && small[7] == 'x');
    memset(small, 'x', sizeof small);
    CHECK(sft_error_code(&error, small, 6) == 6 && strcmp(small, "c.nul") == 0 && small[6] == 'x');
    CHECK(sft_error_code(&error, text, SIZE_MAX) == 0);
    CHECK(sft_error_sentence(&error, text, sizeof text) == 32
          && strcmp(text, "error[c.null]: a pointer is NULL") == 0);
    CHECK(sft_error_sentence(&error, none, 0) == 32);
    CHECK(sft_error_sentence(&error, none, 1) == 0);
    memset(small, 'x', sizeof small);
    CHECK(sft_error_sentence(&error, small, 1) == 32 && small[0] == 0 && small[1] == 'x');
    CHECK(sft_error_sentence(&error, small, 6) == 32 && strcmp(small, "error") == 0 && small[6] == 'x');
    /* Into the memory of the error itself. */
    {
        sft_error one;
        char *over;
        size_t byte;
        for (byte = 0; byte + 33 <= sizeof one; byte++) {
            one = error;
            over = (char *)&one + byte;
            CHECK(sft_error_sentence(&one, over, 33) == 32 && strcmp(over, "error[c.null]: a pointer is NULL") == 0);
            one = error;
            CHECK(sft_error_code(&one, over, 7) == 6 && strcmp(over, "c.null") == 0);
        }
    }
    CHECK(sft_error_code(NULL, text, sizeof text) == 8 && strcmp(text, "no error") == 0);
    CHECK(sft_error_sentence(NULL, text, sizeof text) == 8 && strcmp(text, "no error") == 0);
    CHECK(sft_error_code(&garbage, text, sizeof text) == 8 && strcmp(text, "no error") == 0);
    CHECK(sft_error_code(ASKEW(sft_error, two), text, sizeof text) == 8);
    /* An error that cannot be filled in changes nothing. */
    CHECK(sft_open(&model, NULL, NULL, NULL, 0, NULL, 0, NULL) == SFT_USAGE);
    memset(two, 0xA5, sizeof two);
    CHECK(sft_open(&model, NULL, NULL, NULL, 0, NULL, 0, ASKEW(sft_error, two)) == SFT_USAGE);
    CHECK(memcmp(two, &garbage, sizeof garbage) == 0);
}

/* ---- Models ------------------------------------------------------------------------------------------ */

/* Memory for a model, with anything in it. */
static sft_model garbage_model(void)
{
    sft_model model;
    memset(&model, 0xA5, sizeof model);
    return model;
}

/* Opens `model` in memory, as a preparation. */
#define OPEN(model, tensors) \
    do { \
        const sft_storage in_memory = sft_memory(file, FILE_LEN); \
        PASSES(sft_open(model, &in_memory, both, tensors, 2, window, sizeof window, ERROR)); \
    } while (0)

static void pointers_of_open(void)
{
    sft_model models[2] = { garbage_model(), garbage_model() };
    sft_model *model = &models[0];
    sft_tensor tensors[3];
    sft_storage storages[2];
    sft_storage *storage = storages;
    storages[0] = storages[1] = sft_memory(file, FILE_LEN);
    FAILS("c.null", sft_open(NULL, storage, both, tensors, 2, window, 64, ERROR));
    FAILS("c.aligned", sft_open(ASKEW(sft_model, models), storage, both, tensors, 2, window, 64, ERROR));
    FAILS("c.null", sft_open(model, NULL, both, tensors, 2, window, 64, ERROR));
    FAILS("c.aligned", sft_open(model, ASKEW(sft_storage, storages), both, tensors, 2, window, 64, ERROR));
    FAILS("c.null", sft_open(model, storage, NULL, tensors, 2, window, 64, ERROR));
    FAILS("c.aligned", sft_open(model, storage, ASKEW(sft_request, both), tensors, 1, window, 64, ERROR));
    FAILS("c.null", sft_open(model, storage, both, NULL, 2, window, 64, ERROR));
    FAILS("c.aligned", sft_open(model, storage, both, ASKEW(sft_tensor, tensors), 2, window, 64, ERROR));
    FAILS("c.null", sft_open(model, storage, both, tensors, 2, NULL, 64, ERROR));
    FAILS("usage.window", sft_open(model, storage, both, tensors, 2, NULL, 0, ERROR));
    FAILS("usage.window", sft_open(model, storage, both, tensors, 2, window, 0, ERROR));
    FAILS("c.length", sft_open(model, storage, both, tensors, SIZE_MAX, window, 64, ERROR));
    FAILS("c.length", sft_open(model, storage, both, tensors, SIZE_MAX / 128 + 1, window, 64, ERROR));
    FAILS("c.length", sft_open(model, storage, both, tensors, 2, window, SIZE_MAX, ERROR));
    FAILS("c.state", sft_find(model, both, tensors, 2, window, 64, ERROR));
    PASSES(sft_open(model, storage, NULL, NULL, 0, window, 1, ERROR));
    /* An open model can be opened again; when that fails, it is not open. */
    PASSES(sft_open(model, storage, both, tensors, 2, window, 1, ERROR));
    FAILS("c.null", sft_open(model, storage, both, tensors, 2, NULL, 1, ERROR));
    FAILS("c.state", sft_find(model, both, tensors, 2, window, 64, ERROR));
}

/* No tensor is usable after an error, whatever was in its memory. */
static void tensors_after_errors(void)
{
    sft_model model, ready;
    sft_tensor tensors[2];
    sft_storage storages[2];
    const sft_storage *storage = storages;
    const sft_request missing[2] = { A, SFT_REQUIRED("z", SFT_F32, 1, 2) };
    storages[0] = storages[1] = sft_memory(file, FILE_LEN);
    memset(&model, 0, sizeof model);
    OPEN(&ready, tensors);
#define FORGETS(code, call) \
    do { \
        memset(tensors, 0xA5, sizeof tensors); \
        FAILS(code, call); \
        CHECK(tensors[0].dtype == 0 && tensors[1].dtype == 0); \
    } while (0)
    FORGETS("c.null", sft_open(&model, NULL, both, tensors, 2, window, 64, ERROR));
    FORGETS("c.aligned", sft_open(&model, ASKEW(sft_storage, storages), both, tensors, 2, window, 64, ERROR));
    FORGETS("c.null", sft_open(&model, storage, NULL, tensors, 2, window, 64, ERROR));
    FORGETS("c.null", sft_open(&model, storage, both, tensors, 2, NULL, 64, ERROR));
    FAILS("c.length", sft_open(&model, storage, both, tensors, 2, window, SIZE_MAX, ERROR));
    FORGETS("usage.window", sft_open(&model, storage, both, tensors, 2, window, 0, ERROR));
    FORGETS("usage.missing", sft_open(&model, storage, missing, tensors, 2, window, 64, ERROR));
    FORGETS("c.null", sft_find(&ready, NULL, tensors, 2, window, 64, ERROR));
    FORGETS("c.null", sft_find(&ready, both, tensors, 2, NULL, 64, ERROR));
    FAILS("c.length", sft_find(&ready, both, tensors, 2, window, SIZE_MAX, ERROR));
    FORGETS("usage.window", sft_find(&ready, both, tensors, 2, window, 0, ERROR));
    FORGETS("usage.missing", sft_find(&ready, missing, tensors, 2, window, 64, ERROR));
    storages[0].len_is = 4;
    FORGETS("c.storage", sft_open(&model, storage, both, tensors, 2, window, 64, ERROR));
    storages[0] = sft_memory(file, FILE_LEN - 1);
    FORGETS("data.short", sft_open(&model, storage, both, tensors, 2, window, 64, ERROR));
#undef FORGETS
}

static void requests_of_open(void)
{
    sft_model model, ready;
    sft_tensor tensors[2];
    const sft_storage storage = sft_memory(file, FILE_LEN);
    sft_request bad[2];
    size_t i;
    struct {
        const char *code;
        sft_request request;
    } rows[] = {
        { "c.null", SFT_REQUIRED(NULL, SFT_F32, 1, 2) },
        { "c.utf8", SFT_REQUIRED(NOT_UTF8, SFT_F32, 1, 2) },
        { "c.dtype", SFT_REQUIRED("a", UINT32_C(1) << 22, 1, 2) },
        { "c.dtype", SFT_REQUIRED("a", UINT32_MAX, 1, 2) },
        { "c.dtype", SFT_REQUIRED("a", SFT_F32 | UINT32_C(1) << 31, 1, 2) },
        { "c.rank", SFT_REQUIRED("a", SFT_F32, 9, 2) },
        { "c.rank", SFT_OPTIONAL("a", SFT_F32, 254, 2) },
        { "usage.missing", SFT_REQUIRED("", SFT_F32, 1, 2) },
        { "usage.dtype", SFT_REQUIRED("a", SFT_F16, 1, 2) },
        { "usage.rank", SFT_OPTIONAL("a", SFT_F32, 8, 2) },
        { "usage.rank", SFT_OPTIONAL("a", SFT_F32, 0, 0) },
        { "usage.shape", SFT_OPTIONAL("a", SFT_ANY_DTYPE, 1, 3) },
        { "", SFT_OPTIONAL("z", SFT_F32, 1, 2) },
        { "", SFT_REQUIRED("a", SFT_ANY_DTYPE, SFT_ANY_RANK, 0) },
        { "", SFT_REQUIRED("a", 0x3FFFFF, 1, SFT_ANY_SIZE) },
    };
    OPEN(&ready, tensors);
    bad[0] = B;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int is_missing = strcmp(rows[i].request.name ? rows[i].request.name : "", "z") == 0;
        bad[1] = rows[i].request;
        FAILS(rows[i].code, sft_find(&ready, bad, tensors, 2, window, 64, ERROR));
        CHECK(error_of_call.request == (rows[i].code[0] != 0 ? 1 : -1));
        memset(tensors, 0xA5, sizeof tensors);
        FAILS(rows[i].code, sft_open(&model, &storage, bad, tensors, 2, window, 64, ERROR));
        CHECK(error_of_call.request == (rows[i].code[0] != 0 ? 1 : -1));
        /* No tensor stays usable after an error. */
        CHECK((tensors[0].dtype != 0) == (rows[i].code[0] == 0));
        CHECK((tensors[1].dtype != 0) == (rows[i].code[0] == 0 && !is_missing));
        FAILS(rows[i].code[0] ? "c.state" : "", sft_find(&model, &B, tensors, 1, window, 64, ERROR));
    }
    /* The same tensor may be requested more than once. */
    bad[0] = bad[1] = A;
    PASSES(sft_open(&model, &storage, bad, tensors, 2, window, 64, ERROR));
    CHECK(tensors[0].offset == DATA && tensors[1].offset == DATA && tensors[1].elements == 2);
}

static void storages_of_open(void)
{
    sft_model model;
    sft_storage bad;
    device it;
    memset(&it, 0, sizeof it);
    bad = sft_callbacks(NULL, &it, FILE_LEN, SFT_LEN_EXACT);
    FAILS("c.storage", sft_open(&model, &bad, NULL, NULL, 0, window, 64, ERROR));
    bad.len_is = SFT_LEN_UNKNOWN;
    FAILS("c.storage", sft_open_unordered(&model, &bad, slots, 4, window, 64, ERROR));
    bad = sft_callbacks(read_device, &it, FILE_LEN, 4);
    FAILS("c.storage", sft_open(&model, &bad, NULL, NULL, 0, window, 64, ERROR));
    bad.len_is = UINT32_MAX;
    FAILS("c.storage", sft_open(&model, &bad, NULL, NULL, 0, window, 64, ERROR));
    bad = sft_memory(NULL, 1);
    FAILS("c.null", sft_open(&model, &bad, NULL, NULL, 0, window, 64, ERROR));
    bad = sft_memory(file, SIZE_MAX);
    FAILS("c.length", sft_open(&model, &bad, NULL, NULL, 0, window, 64, ERROR));
    bad = sft_memory(NULL, 0);
    FAILS("container.short", sft_open(&model, &bad, NULL, NULL, 0, window, 64, ERROR));
    bad = sft_memory(file, FILE_LEN - 1);
    FAILS("data.short", sft_open(&model, &bad, NULL, NULL, 0, window, 64, ERROR));
    CHECK(it.calls == 0);
    /* `read` is not used for a file in memory. */
    bad = sft_memory(file, FILE_LEN);
    bad.read = read_device;
    PASSES(sft_open(&model, &bad, NULL, NULL, 0, window, 64, ERROR));
    CHECK(it.calls == 0);
    bad = sft_callbacks(read_device, &it, FILE_LEN - 1, SFT_LEN_AT_MOST);
    FAILS("data.short", sft_open(&model, &bad, NULL, NULL, 0, window, 64, ERROR));
    bad = sft_callbacks(read_device, &it, 0, SFT_LEN_EXACT);
    FAILS("container.short", sft_open(&model, &bad, NULL, NULL, 0, window, 64, ERROR));
    bad.len = UINT64_MAX;
    FAILS("data.trailing", sft_open(&model, &bad, NULL, NULL, 0, window, 64, ERROR));
    bad.len_is = SFT_LEN_AT_MOST;
    PASSES(sft_open(&model, &bad, NULL, NULL, 0, window, 64, ERROR));
}

static void pointers_of_open_unordered(void)
{
    sft_model models[2];
    const sft_storage storage = sft_memory(file, FILE_LEN);
    FAILS("c.null", sft_open_unordered(NULL, &storage, slots, 4, window, 64, ERROR));
    FAILS("c.aligned", sft_open_unordered(ASKEW(sft_model, models), &storage, slots, 4, window, 64, ERROR));
    FAILS("c.null", sft_open_unordered(models, NULL, slots, 4, window, 64, ERROR));
    FAILS("c.null", sft_open_unordered(models, &storage, NULL, 4, window, 64, ERROR));
    FAILS("c.aligned", sft_open_unordered(models, &storage, ASKEW(sft_slot, slots), 3, window, 64, ERROR));
    FAILS("c.length", sft_open_unordered(models, &storage, slots, SIZE_MAX, window, 64, ERROR));
    FAILS("c.null", sft_open_unordered(models, &storage, slots, 4, NULL, 64, ERROR));
    FAILS("usage.window", sft_open_unordered(models, &storage, slots, 4, NULL, 0, ERROR));
    PASSES(sft_open_unordered(models, &storage, NULL, 0, window, 64, ERROR));
}

/* Every function but the opening ones, with this model and nothing else wrong. */
static void uses_of_model(sft_model *model, const char *code)
{
    sft_tensor tensors[2], a;
    uint8_t sum[32] = { 0 };
    double numbers[2];
    char value[16];
    memset(&a, 0, sizeof a);
    a.shape[0] = 2;
    a.offset = DATA;
    a.bytes = 8;
    a.dtype = SFT_F32;
    a.rank = 1;
    FAILS(code, sft_find(model, both, tensors, 2, window, 64, ERROR));
    FAILS(code, sft_validate_names(model, NULL, slots, 4, text, 64, window, 64, ERROR));
    FAILS(code, sft_metadata(model, "key", value, sizeof value, NULL, window, 64, ERROR));
    FAILS(code, sft_read_bytes(model, &a, 0, numbers, 8, ERROR));
    FAILS(code, sft_read_f32(model, &a, 0, (float *)numbers, 2, ERROR));
    FAILS(code, sft_read_f64(model, &a, 0, numbers, 2, ERROR));
    FAILS(code, sft_read_rounded_f32(model, &a, 0, (float *)numbers, 2, ERROR));
    FAILS(code[0] ? code : "integrity.sum", sft_verify_sha256(model, sum, window, 64, ERROR));
    FAILS(code[0] ? code : "integrity.sum", sft_verify_crc32(model, 0, window, 64, ERROR));
    FAILS(code[0] ? code : "usage.sum", sft_verify_embedded(model, window, 64, ERROR));
}

static void visit_nothing(void *context, const char *name, size_t name_len, const sft_tensor *tensor)
{
    (void)name;
    (void)name_len;
    (void)tensor;
    ++*(int *)context;
}

static void states_of_models(void)
{
    sft_model model, moved;
    sft_tensor tensors[2];
    sft_receiver receiver;
    int visited = 0;
    static const int FILLINGS[] = { 0, 0xFF, 0xA5 };
    size_t i;
    uses_of_model(NULL, "c.null");
    for (i = 0; i < 3; i++) {
        memset(&model, FILLINGS[i], sizeof model);
        uses_of_model(&model, "c.state");
        FAILS("c.state", sft_for_each(&model, visit_nothing, &visited, text, 64, window, 64, ERROR));
    }
    OPEN(&model, tensors);
    uses_of_model(&model, "");
    memcpy(&moved, &model, sizeof model);
    uses_of_model(&moved, "c.state");
    FAILS("c.state", sft_for_each(&moved, visit_nothing, &visited, text, 64, window, 64, ERROR));
    /* An object of another type at an address that had a model. */
    PASSES(sft_receiver_begin(&receiver, NULL, 0, ERROR));
    uses_of_model((sft_model *)(void *)&receiver, "c.state");
    CHECK(visited == 0);
    PASSES(sft_for_each(&model, visit_nothing, &visited, text, 1, window, 1, ERROR));
    CHECK(visited == 2);
}

/* Two tensors of one name: a text of any length is enough to compare them, and an empty one is not. */
static void duplicates(void)
{
    static const char TWICE[] = "........{\"12345678\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},"
                                "\"12345678\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}";
    uint8_t twice[sizeof TWICE - 1];
    sft_storage storage = sft_memory(twice, sizeof twice);
    sft_model model;
    memcpy(twice, TWICE, sizeof twice);
    memset(twice, 0, 8);
    twice[0] = (uint8_t)(sizeof twice - 8);
    PASSES(sft_open(&model, &storage, NULL, NULL, 0, window, 64, ERROR));
    FAILS("limit.text", sft_validate_names(&model, NULL, slots, 4, NULL, 0, window, 64, ERROR));
    FAILS("name.duplicate", sft_validate_names(&model, NULL, slots, 4, text, 1, window, 64, ERROR));
}

/* Reads as `read_device`, and nothing beyond the length in the context. */
static size_t partition_len;

static int32_t read_partition(void *context, uint64_t offset, void *buffer, size_t len)
{
    CHECK(offset < partition_len && len <= partition_len - offset);
    return read_device(context, offset, buffer, len);
}

/* A callback is not asked for what is outside of its partition. */
static void partitions(void)
{
    device it = { 0, 0, FAIL, NULL, NULL };
    sft_model model;
    sft_tensor tensors[2];
    for (partition_len = 0; partition_len <= FILE_LEN; partition_len++) {
        sft_storage storage = sft_callbacks(read_partition, &it, partition_len, SFT_LEN_AT_MOST);
        const char *code = partition_len < 8 ? "container.short"
                           : partition_len < DATA ? "container.header-beyond-file"
                                                  : partition_len < FILE_LEN ? "data.short" : "";
        FAILS(code, sft_open(&model, &storage, both, tensors, 2, window, 64, ERROR));
        storage.len_is = SFT_LEN_EXACT;
        FAILS(code, sft_open(&model, &storage, both, tensors, 2, window, 64, ERROR));
    }
}

static void pointers_of_models(void)
{
    sft_model model;
    sft_tensor tensors[2];
    int found[2] = { 5, 5 }, visited = 0;
    uint64_t key[3] = { 1, 2, 3 };
    uint8_t sum[32] = { 0 };
    OPEN(&model, tensors);
    FAILS("c.null", sft_find(&model, NULL, tensors, 2, window, 64, ERROR));
    FAILS("c.null", sft_find(&model, both, NULL, 2, window, 64, ERROR));
    FAILS("c.null", sft_find(&model, both, tensors, 2, NULL, 64, ERROR));
    FAILS("usage.window", sft_find(&model, both, tensors, 2, window, 0, ERROR));
    FAILS("c.length", sft_find(&model, both, tensors, SIZE_MAX, window, 64, ERROR));
    PASSES(sft_find(&model, NULL, NULL, 0, window, 64, ERROR));
    FAILS("c.null", sft_for_each(&model, NULL, NULL, text, 64, window, 64, ERROR));
    FAILS("c.null", sft_for_each(&model, visit_nothing, &visited, NULL, 64, window, 64, ERROR));
    FAILS("c.null", sft_for_each(&model, visit_nothing, &visited, text, 64, NULL, 64, ERROR));
    FAILS("limit.name", sft_for_each(&model, visit_nothing, &visited, NULL, 0, window, 64, ERROR));
    FAILS("usage.window", sft_for_each(&model, visit_nothing, &visited, text, 64, window, 0, ERROR));
    CHECK(visited == 0);
    PASSES(sft_validate_names(&model, key, slots, 4, text, 64, window, 64, ERROR));
    FAILS("c.aligned", sft_validate_names(&model, ASKEW(uint64_t, key), slots, 4, text, 64, window, 64, ERROR));
    FAILS("c.null", sft_validate_names(&model, key, NULL, 4, text, 64, window, 64, ERROR));
    FAILS("c.aligned", sft_validate_names(&model, key, ASKEW(sft_slot, slots), 3, text, 64, window, 64, ERROR));
    FAILS("c.null", sft_validate_names(&model, key, slots, 4, NULL, 64, window, 64, ERROR));
    FAILS("c.null", sft_validate_names(&model, key, slots, 4, text, 64, NULL, 64, ERROR));
    FAILS("usage.window", sft_validate_names(&model, key, slots, 4, text, 64, window, 0, ERROR));
    FAILS("limit.slots", sft_validate_names(&model, key, NULL, 0, text, 64, window, 64, ERROR));
    duplicates();
    partitions();
    FAILS("c.null", sft_metadata(&model, NULL, text, 64, found, window, 64, ERROR));
    FAILS("c.utf8", sft_metadata(&model, NOT_UTF8, text, 64, found, window, 64, ERROR));
    FAILS("c.null", sft_metadata(&model, "key", NULL, 64, found, window, 64, ERROR));
    FAILS("c.text", sft_metadata(&model, "key", NULL, 0, found, window, 64, ERROR));
    FAILS("c.text", sft_metadata(&model, "key", text, 0, found, window, 64, ERROR));
    FAILS("c.null", sft_metadata(&model, "key", text, 64, found, NULL, 64, ERROR));
    FAILS("usage.window", sft_metadata(&model, "key", text, 64, found, window, 0, ERROR));
    FAILS("limit.value", sft_metadata(&model, "key", text, 5, found, window, 64, ERROR));
    CHECK(found[0] == 5);
    FAILS("c.aligned", sft_metadata(&model, "key", text, 64, ASKEW(int, found), window, 64, ERROR));
    PASSES(sft_metadata(&model, "key", text, 6, found, window, 64, ERROR));
    CHECK(found[0] == 1 && strcmp(text, "value") == 0);
    PASSES(sft_metadata(&model, "kez", text, 1, found, window, 64, ERROR));
    CHECK(found[0] == 0 && text[0] == 0);
    FAILS("c.null", sft_verify_sha256(&model, NULL, window, 64, ERROR));
    FAILS("c.null", sft_verify_sha256(&model, sum, NULL, 64, ERROR));
    /* A file in memory needs no buffer for its sum. */
    FAILS("integrity.sum", sft_verify_sha256(&model, sum, NULL, 0, ERROR));
    FAILS("c.length", sft_verify_sha256(&model, sum, window, SIZE_MAX, ERROR));
    FAILS("c.null", sft_verify_crc32(&model, 0, NULL, 64, ERROR));
    FAILS("integrity.sum", sft_verify_crc32(&model, 0, NULL, 0, ERROR));
    FAILS("c.null", sft_verify_embedded(&model, NULL, 64, ERROR));
    FAILS("usage.window", sft_verify_embedded(&model, NULL, 0, ERROR));
    uses_of_model(&model, "");
}

/* Returns how many bytes a value needs, as the sentence of the last error says. */
static size_t needed(void)
{
    static const char BEFORE[] = "the value: ";
    char sentence[200];
    const char *at;
    unsigned long bytes = 0;
    sft_error_sentence(ERROR, sentence, sizeof sentence);
    at = strstr(sentence, BEFORE);
    CHECK(at != NULL && sscanf(at + sizeof BEFORE - 1, "%lu", &bytes) == 1);
    return bytes;
}

/* The memory that an error asks for is enough, with the final 0. */
static void memory_of_values(void)
{
    sft_model model;
    sft_tensor tensors[2];
    size_t len, enough;
    OPEN(&model, tensors);
    for (len = 1; len < sizeof "value"; len++) {
        FAILS("limit.value", sft_metadata(&model, "key", text, len, NULL, window, 64, ERROR));
        enough = needed();
        CHECK(enough == sizeof "value");
        PASSES(sft_metadata(&model, "key", text, enough, NULL, window, 64, ERROR));
        CHECK(strcmp(text, "value") == 0);
    }
}

/* ---- Reading ----------------------------------------------------------------------------------------- */

#define READS(function, type, beyond) \
    do { \
        type out[4] = { 0 }; \
        FAILS("c.null", function(NULL, b, 0, out, 3, ERROR)); \
        FAILS("c.null", function(&model, NULL, 0, out, 3, ERROR)); \
        FAILS("c.aligned", function(&model, ASKEW(sft_tensor, tensors), 0, out, 3, ERROR)); \
        FAILS("c.null", function(&model, b, 0, NULL, 3, ERROR)); \
        FAILS("c.length", function(&model, b, 0, out, SIZE_MAX, ERROR)); \
        if (sizeof(type) > 1) { \
            FAILS("c.aligned", function(&model, b, 0, ASKEW(type, out), 3, ERROR)); \
        } \
        PASSES(function(&model, b, 0, NULL, 0, ERROR)); \
        PASSES(function(&model, b, 3, NULL, 0, ERROR)); \
        FAILS(beyond, function(&model, b, 4, NULL, 0, ERROR)); \
        FAILS(beyond, function(&model, b, 0, out, 4, ERROR)); \
        FAILS(beyond, function(&model, b, 3, out, 1, ERROR)); \
        FAILS(beyond, function(&model, b, UINT64_MAX, out, 1, ERROR)); \
        FAILS("c.missing", function(&model, &missing, 0, out, 1, ERROR)); \
    } while (0)

static void reads(void)
{
    sft_model model;
    sft_tensor tensors[2], missing;
    const sft_tensor *b = &tensors[1];
    int8_t small[2];
    uint8_t bytes[8];
    memset(&missing, 0, sizeof missing);
    OPEN(&model, tensors);
    READS(sft_read_f32, float, "usage.element");
    READS(sft_read_f64, double, "usage.element");
    READS(sft_read_i8, int8_t, "usage.element");
    READS(sft_read_i16, int16_t, "usage.element");
    READS(sft_read_i32, int32_t, "usage.element");
    READS(sft_read_i64, int64_t, "usage.element");
    READS(sft_read_rounded_f32, float, "usage.element");
    READS(sft_read_bytes, uint8_t, "usage.range");
    FAILS("usage.conversion", sft_read_u8(&model, b, 0, bytes, 1, ERROR));
    FAILS("usage.conversion", sft_read_u16(&model, b, 0, (uint16_t *)(void *)small, 1, ERROR));
    FAILS("usage.conversion", sft_read_i8(&model, &tensors[0], 0, small, 1, ERROR));
    FAILS("usage.conversion", sft_read_u8(&model, &tensors[0], 0, NULL, 0, ERROR));
}

/* Tensors that the program has changed. */
static void forged_tensors(void)
{
    sft_model model;
    sft_tensor tensors[2], it;
    float out[2];
    OPEN(&model, tensors);
#define FORGED(code, change) \
    do { \
        it = tensors[0]; \
        change; \
        FAILS(code, sft_read_f32(&model, &it, 0, out, 2, ERROR)); \
        FAILS(code, sft_read_bytes(&model, &it, 0, out, 8, ERROR)); \
    } while (0)
    FORGED("", (void)0);
    FORGED("", it.elements = 7);
    FORGED("c.tensor", memset(it.private_, 0xA5, sizeof it.private_));
    FORGED("", memset(it.private_, 0, sizeof it.private_)); /* as of a tensor that the program describes itself */
    FORGED("c.missing", it.dtype = 0);
    FORGED("c.dtype", it.dtype = SFT_F32 | SFT_I32);
    FORGED("c.dtype", it.dtype = UINT32_C(1) << 22);
    FORGED("c.dtype", it.dtype = UINT32_C(1) << 31);
    FORGED("c.rank", it.rank = 9);
    FORGED("c.rank", it.rank = UINT32_MAX);
    FORGED("c.tensor", it.rank = 0);
    FORGED("c.tensor", it.bytes = 9);
    FORGED("c.tensor", it.bytes = 0);
    FORGED("c.tensor", it.dtype = SFT_F64);
    FORGED("c.tensor", it.shape[0] = 3);
    FORGED("c.tensor", it.shape[0] = UINT64_MAX);
    FORGED("c.tensor", it.bytes = UINT64_MAX);
    FORGED("c.tensor", it.offset = 0);
    FORGED("c.tensor", it.offset = DATA - 1);
    FORGED("usage.tensor", it.offset = UINT64_MAX);
    FORGED("usage.tensor", it.offset = FILE_LEN);
    FORGED("usage.tensor", it.offset = FILE_LEN - 7);
#undef FORGED
    /* A tensor that fits is read: the bytes of the file are the caller's. */
    it = tensors[0];
    it.offset += 3;
    PASSES(sft_read_bytes(&model, &it, 0, out, 8, ERROR));
}

/* ---- Callbacks of storage ---------------------------------------------------------------------------- */

/* Opens, searches, lists and reads, through small windows. Returns the first status that is not SFT_OK. */
static sft_status everything(device *it)
{
    const sft_storage storage = storage_of(it);
    sft_model model;
    sft_tensor tensors[2];
    float a[2] = { 0, 0 };
    uint8_t sum[32] = { 0 };
    int visited = 0;
    sft_status status = sft_open(&model, &storage, both, tensors, 2, window, 16, ERROR);
    THEN(sft_find(&model, both, tensors, 2, window, 16, ERROR));
    THEN(sft_for_each(&model, visit_nothing, &visited, text, 64, window, 16, ERROR));
    THEN(sft_validate_names(&model, NULL, slots, 2, text, 64, window, 16, ERROR));
    THEN(sft_metadata(&model, "key", text, 64, NULL, window, 16, ERROR));
    if (status == SFT_OK) {
        status = sft_read_f32(&model, &tensors[0], 0, a, 2, ERROR);
        CHECK(status != SFT_OK || (a[0] == 1 && a[1] == 2));
    }
    THEN(sft_read_bytes(&model, &tensors[0], 0, a, 8, ERROR));
    THEN(sft_verify_sha256(&model, sum, window, 16, ERROR));
    return status;
}

static void bad_reads(void)
{
    device it;
    int calls, call, reads_of_open;
    sft_model model;
    const sft_storage storage = storage_of(&it);
    memset(&it, 0, sizeof it);
    PASSES(sft_open(&model, &storage, NULL, NULL, 0, window, 16, ERROR));
    /* A file that ends while it is opened is one that is too short, whatever its length is said to be. */
    reads_of_open = it.calls;
    for (call = 1; call <= reads_of_open; call++) {
        it.calls = 0;
        it.wrong_call = call;
        it.how = NOTHING;
        FAILS(call == 1 ? "container.short" : "container.header-beyond-file",
              sft_open(&model, &storage, NULL, NULL, 0, window, 16, ERROR));
    }
    memset(&it, 0, sizeof it);
    FAILS("integrity.sum", everything(&it));
    calls = it.calls;
    CHECK(calls > 40);
    for (call = 1; call <= calls; call++) {
#define BAD(code, kind, returned) \
    do { \
        it.calls = 0; \
        it.wrong_call = call; \
        it.how = kind; \
        FAILS(code, everything(&it)); \
        CHECK(error_of_call.storage == (returned) && error_of_call.at < FILE_LEN); \
        CHECK(it.calls == call); \
    } while (0)
        BAD("storage.failed", FAIL, -7);
        BAD("storage.failed", LEAST, INT32_MIN);
        BAD("storage.count", MOST, INT32_MAX);
        if (call > reads_of_open) {
            BAD("storage.end", NOTHING, 0);
        }
#undef BAD
        it.calls = 0;
        it.how = TOO_MANY;
        FAILS("storage.count", everything(&it));
        CHECK(error_of_call.storage > 0 && error_of_call.storage <= 65);
    }
}

/* ---- Calls from within callbacks --------------------------------------------------------------------- */

static int called;

/* Calls everything with the model that is in use. */
static void use_model(void *object)
{
    sft_model *model = (sft_model *)object;
    sft_tensor tensors[2];
    sft_storage storage = sft_memory(file, FILE_LEN);
    const sft_error outer = error_of_call;
    uint8_t own[16];
    int visited = 0;
    called++;
    FAILS("c.reentered", sft_open(model, &storage, both, tensors, 2, own, sizeof own, ERROR));
    FAILS("c.reentered", sft_open_unordered(model, &storage, slots, 4, own, sizeof own, ERROR));
    uses_of_model(model, "c.reentered");
    FAILS("c.reentered", sft_for_each(model, visit_nothing, &visited, text, 64, own, sizeof own, ERROR));
    CHECK(visited == 0);
    error_of_call = outer;
}

static void visit_and_use(void *context, const char *name, size_t name_len, const sft_tensor *tensor)
{
    (void)name;
    (void)name_len;
    (void)tensor;
    use_model(context);
}

static void calls_from_callbacks(void)
{
    device it;
    sft_model model;
    sft_tensor tensors[2];
    float a[2];
    uint8_t sum[32] = { 0 };
    const sft_storage storage = storage_of(&it);
    memset(&it, 0, sizeof it);
    memset(&model, 0, sizeof model);
    it.wrong_call = -1;
    it.how = CALL_BACK;
    it.object = &model;
    it.call = use_model;
#define USE(call) \
    do { \
        called = 0; \
        PASSES(call); \
        CHECK(called > 0); \
    } while (0)
    /* While it is being opened, it is not open. */
    USE(sft_open(&model, &storage, both, tensors, 2, window, 64, ERROR));
    USE(sft_open_unordered(&model, &storage, slots, 4, window, 64, ERROR));
    USE(sft_find(&model, both, tensors, 2, window, 64, ERROR));
    USE(sft_for_each(&model, visit_nothing, &called, text, 64, window, 64, ERROR));
    USE(sft_validate_names(&model, NULL, slots, 4, text, 64, window, 64, ERROR));
    USE(sft_metadata(&model, "key", text, 64, NULL, window, 64, ERROR));
    USE(sft_read_f32(&model, &tensors[0], 0, a, 2, ERROR));
    CHECK(a[0] == 1 && a[1] == 2);
    USE(sft_read_bytes(&model, &tensors[0], 0, a, 8, ERROR));
    called = 0;
    FAILS("integrity.sum", sft_verify_sha256(&model, sum, window, 64, ERROR));
    CHECK(called > 0);
    it.wrong_call = 0;
    USE(sft_for_each(&model, visit_and_use, &model, text, 64, window, 64, ERROR));
    CHECK(called == 2);
#undef USE
    uses_of_model(&model, "");
}

/* Another model may be used in a callback. */
static sft_model other;

static void use_other(void *object)
{
    (void)object;
    called++;
    uses_of_model(&other, "");
}

static void other_models_in_callbacks(void)
{
    device it;
    sft_model model;
    sft_tensor tensors[2];
    uint8_t own[32];
    const sft_storage storage = storage_of(&it);
    memset(&it, 0, sizeof it);
    OPEN(&other, tensors);
    it.wrong_call = -1;
    it.how = CALL_BACK;
    it.call = use_other;
    called = 0;
    PASSES(sft_open(&model, &storage, both, tensors, 2, own, sizeof own, ERROR));
    CHECK(called > 0 && tensors[1].elements == 3);
}

/* ---- Receivers --------------------------------------------------------------------------------------- */

#define ADDS(function, type) \
    do { \
        type out[4] = { 0 }; \
        FAILS("c.null", function(NULL, &B, out, 3, ERROR)); \
        FAILS("c.null", function(&receiver, NULL, out, 3, ERROR)); \
        FAILS("c.aligned", function(&receiver, ASKEW(const sft_request, both), out, 3, ERROR)); \
        FAILS("c.null", function(&receiver, &B, NULL, 3, ERROR)); \
        FAILS("c.length", function(&receiver, &B, out, SIZE_MAX, ERROR)); \
        if (sizeof(type) > 1) { \
            FAILS("c.aligned", function(&receiver, &B, ASKEW(type, out), 3, ERROR)); \
        } \
        FAILS("c.utf8", function(&receiver, &not_utf8, out, 3, ERROR)); \
        FAILS("c.null", function(&receiver, &no_name, out, 3, ERROR)); \
        FAILS("c.rank", function(&receiver, &no_rank, out, 3, ERROR)); \
        FAILS("c.dtype", function(&receiver, &no_dtype, out, 3, ERROR)); \
        FAILS("c.targets", function(&receiver, &B, out, 3, ERROR)); \
        FAILS("c.state", function(&none, &B, out, 3, ERROR)); \
        FAILS("c.state", function(&moved, &B, out, 3, ERROR)); \
    } while (0)

static void additions(void)
{
    static const sft_request not_utf8 = SFT_REQUIRED(NOT_UTF8, SFT_I8, 1, 3);
    static const sft_request no_name = SFT_REQUIRED(NULL, SFT_I8, 1, 3);
    static const sft_request no_rank = SFT_REQUIRED("b", SFT_I8, 9, 3);
    static const sft_request no_dtype = SFT_REQUIRED("b", UINT32_C(1) << 25, 1, 3);
    sft_receiver receiver, none, moved;
    memset(&none, 0, sizeof none);
    PASSES(sft_receiver_begin(&receiver, NULL, 0, ERROR));
    memcpy(&moved, &receiver, sizeof moved);
    ADDS(sft_receiver_add_bytes, uint8_t);
    ADDS(sft_receiver_add_f32, float);
    ADDS(sft_receiver_add_f64, double);
    ADDS(sft_receiver_add_i8, int8_t);
    ADDS(sft_receiver_add_u8, uint8_t);
    ADDS(sft_receiver_add_i16, int16_t);
    ADDS(sft_receiver_add_u16, uint16_t);
    ADDS(sft_receiver_add_i32, int32_t);
    ADDS(sft_receiver_add_u32, uint32_t);
    ADDS(sft_receiver_add_i64, int64_t);
    ADDS(sft_receiver_add_u64, uint64_t);
    PASSES(sft_receiver_push(&receiver, file, FILE_LEN, ERROR));
    PASSES(sft_receiver_end(&receiver, ERROR));
}

static void receivers(void)
{
    sft_receiver receivers[2], moved;
    sft_receiver *receiver = receivers;
    sft_target targets[3];
    sft_tensor tensors[2];
    float a[2];
    int8_t b[3];
    memset(receivers, 0xA5, sizeof receivers);
    FAILS("c.null", sft_receiver_begin(NULL, targets, 2, ERROR));
    FAILS("c.aligned", sft_receiver_begin(ASKEW(sft_receiver, receivers), targets, 2, ERROR));
    FAILS("c.null", sft_receiver_begin(receiver, NULL, 1, ERROR));
    FAILS("c.aligned", sft_receiver_begin(receiver, ASKEW(sft_target, targets), 2, ERROR));
    FAILS("c.length", sft_receiver_begin(receiver, targets, SIZE_MAX / sizeof targets[0], ERROR));
    FAILS("c.state", sft_receiver_push(receiver, file, 1, ERROR));
    FAILS("c.state", sft_receiver_end(receiver, ERROR));
    FAILS("c.state", sft_receiver_tensor(receiver, 0, tensors, ERROR));
    CHECK(sft_receiver_remaining(receiver) == 0 && sft_receiver_remaining(NULL) == 0);
    CHECK(sft_receiver_remaining(ASKEW(sft_receiver, receivers)) == 0);
    FAILS("c.null", sft_receiver_push(NULL, file, 1, ERROR));
    FAILS("c.null", sft_receiver_end(NULL, ERROR));
    FAILS("c.null", sft_receiver_tensor(NULL, 0, tensors, ERROR));
    PASSES(sft_receiver_begin(receiver, targets, 2, ERROR));
    PASSES(sft_receiver_add_f32(receiver, &A, a, 2, ERROR));
    PASSES(sft_receiver_add_i8(receiver, &B, b, 3, ERROR));
    FAILS("c.targets", sft_receiver_add_i8(receiver, &B, b, 3, ERROR));
    FAILS("c.targets", sft_receiver_tensor(receiver, 2, tensors, ERROR));
    PASSES(sft_receiver_tensor(receiver, 1, tensors, ERROR));
    CHECK(tensors[0].dtype == 0 && sft_receiver_remaining(receiver) == 8);
    /* These two do not end the adding. */
    FAILS("c.targets", sft_receiver_add_i8(receiver, &B, b, 3, ERROR));
    memcpy(&moved, receiver, sizeof moved);
    FAILS("c.state", sft_receiver_push(&moved, file, 1, ERROR));
    FAILS("c.state", sft_receiver_end(&moved, ERROR));
    FAILS("c.state", sft_receiver_tensor(&moved, 0, tensors, ERROR));
    CHECK(sft_receiver_remaining(receiver) == 8);
    FAILS("c.null", sft_receiver_push(receiver, NULL, 1, ERROR));
    FAILS("c.length", sft_receiver_push(receiver, file, SIZE_MAX, ERROR));
    PASSES(sft_receiver_push(receiver, NULL, 0, ERROR));
    PASSES(sft_receiver_push(receiver, file, 10, ERROR));
    FAILS("c.added", sft_receiver_add_i8(receiver, &B, b, 3, ERROR));
    FAILS("c.null", sft_receiver_tensor(receiver, 0, NULL, ERROR));
    FAILS("c.aligned", sft_receiver_tensor(receiver, 0, ASKEW(sft_tensor, tensors), ERROR));
    FAILS("c.targets", sft_receiver_tensor(receiver, 2, tensors, ERROR));
    FAILS("c.targets", sft_receiver_tensor(receiver, SIZE_MAX, tensors, ERROR));
    PASSES(sft_receiver_tensor(receiver, 1, tensors, ERROR));
    CHECK(tensors[0].dtype == 0);
    PASSES(sft_receiver_push(receiver, file + 10, FILE_LEN - 10, ERROR));
    CHECK(sft_receiver_remaining(receiver) == 0);
    PASSES(sft_receiver_end(receiver, ERROR));
    PASSES(sft_receiver_end(receiver, ERROR));
    PASSES(sft_receiver_tensor(receiver, 1, tensors, ERROR));
    CHECK(tensors[0].dtype == SFT_I8 && tensors[0].offset == DATA + 8 && b[0] == -1 && a[1] == 2);
    FAILS("data.trailing", sft_receiver_push(receiver, file, 1, ERROR));
    FAILS("data.trailing", sft_receiver_end(receiver, ERROR));
}

/* Files that are not received, and targets that do not fit. */
static void rejected_files(void)
{
    sft_receiver receiver;
    sft_target targets[2];
    float a[2] = { 0, 0 };
    int8_t small[2] = { 0, 0 };
    uint8_t bytes[8] = { 0 };
    size_t cut;
    for (cut = 0; cut < FILE_LEN; cut++) {
        const char *code = cut < 8 ? "container.short" : cut < DATA ? "container.header-beyond-file" : "data.short";
        PASSES(sft_receiver_begin(&receiver, NULL, 0, ERROR));
        PASSES(sft_receiver_push(&receiver, file, cut, ERROR));
        CHECK(sft_receiver_remaining(&receiver) > 0);
        FAILS(code, sft_receiver_end(&receiver, ERROR));
        FAILS(code, sft_receiver_push(&receiver, file + cut, FILE_LEN - cut, ERROR));
        CHECK(sft_receiver_remaining(&receiver) == 0);
    }
    PASSES(sft_receiver_begin(&receiver, targets, 2, ERROR));
    PASSES(sft_receiver_add_f32(&receiver, &A, a, 2, ERROR));
    PASSES(sft_receiver_add_i8(&receiver, &B, small, 2, ERROR));
    FAILS("limit.buffer", sft_receiver_push(&receiver, file, FILE_LEN, ERROR));
    FAILS("limit.buffer", sft_receiver_end(&receiver, ERROR));
    CHECK(a[0] == 0 && small[0] == 0);
    PASSES(sft_receiver_begin(&receiver, targets, 2, ERROR));
    PASSES(sft_receiver_add_bytes(&receiver, &A, bytes, 7, ERROR));
    FAILS("limit.buffer", sft_receiver_push(&receiver, file, FILE_LEN, ERROR));
    PASSES(sft_receiver_begin(&receiver, targets, 2, ERROR));
    PASSES(sft_receiver_add_i8(&receiver, &A, small, 2, ERROR));
    FAILS("usage.conversion", sft_receiver_push(&receiver, file, FILE_LEN, ERROR));
    PASSES(sft_receiver_begin(&receiver, targets, 2, ERROR));
    PASSES(sft_receiver_add_bytes(&receiver, &A, NULL, 0, ERROR));
    FAILS("limit.buffer", sft_receiver_push(&receiver, file, FILE_LEN, ERROR));
    CHECK(a[0] == 0 && small[0] == 0 && bytes[0] == 0);
}

/* ---- Recorders --------------------------------------------------------------------------------------- */

typedef struct flash {
    uint8_t bytes[512];
    /* As for a `device`. */
    int wrong_call;
    int calls;
    int32_t returns;
    /* Whether the wrong call was one that writes. */
    int is_write;
    void (*call)(void *object);
    void *object;
} flash;

/* Whether this call does something wrong. */
static int is_wrong(flash *it)
{
    int is_due = ++it->calls == it->wrong_call || it->wrong_call < 0;
    if (is_due && it->call != NULL) {
        it->call(it->object);
        return 0;
    }
    return is_due;
}

static int32_t write_flash(void *context, uint64_t offset, const void *bytes, size_t len)
{
    flash *it = (flash *)context;
    if (is_wrong(it)) {
        it->is_write = 1;
        return it->returns;
    }
    CHECK(offset <= sizeof it->bytes && len <= sizeof it->bytes - offset && len > 0);
    memcpy(it->bytes + offset, bytes, len);
    return (int32_t)len;
}

static int32_t prepare_flash(void *context, uint64_t data_start, uint64_t file_len)
{
    flash *it = (flash *)context;
    CHECK(data_start <= file_len && file_len <= sizeof it->bytes);
    memset(it->bytes, 0xFF, sizeof it->bytes);
    return is_wrong(it) ? it->returns : 0;
}

static int32_t flush_flash(void *context)
{
    flash *it = (flash *)context;
    return is_wrong(it) ? it->returns : 0;
}

static sft_sink sink_of(flash *it)
{
    sft_sink sink;
    sink.write = write_flash;
    sink.prepare = prepare_flash;
    sink.flush = flush_flash;
    sink.context = it;
    sink.capacity = sizeof it->bytes;
    sink.unit = 1;
    return sink;
}

static const sft_spec SPECS[2] = { { "a", SFT_F32, 1, { 2 } }, { "b", SFT_I8, 1, { 3 } } };
static const sft_pair PAIRS[1] = { { "key", "value" } };
static uint64_t memory[SFT_RECORDER_MEMORY(2, 1)];
#define WORDS SFT_RECORDER_MEMORY(2, 1)
static uint8_t buffer[32];
static flash chip;

/* Begins a recorder with one thing changed; `about` is the number of the tensor or pair of the error. */
#define BEGINS(code, change) BEGINS_AT(code, -1, change)
#define BEGINS_AT(code, about, change) \
    do { \
        sft_recorder recorder; \
        sft_sink sink = sink_of(&chip); \
        sft_sink *the_sink = &sink; \
        sft_spec specs[3]; \
        const sft_spec *the_specs = specs; \
        sft_pair pairs[2]; \
        const sft_pair *the_pairs = pairs; \
        uint64_t *the_memory = memory; \
        void *the_buffer = buffer; \
        size_t count = 2, pair_count = 1, words = WORDS, len = sizeof buffer; \
        memset(&recorder, 0xA5, sizeof recorder); \
        memset(&chip, 0, sizeof chip); \
        memcpy(specs, SPECS, sizeof SPECS); \
        memcpy(pairs, PAIRS, sizeof PAIRS); \
        change; \
        FAILS(code, sft_recorder_begin(&recorder, the_sink, the_specs, count, the_pairs, pair_count, the_memory, \
                                       words, the_buffer, len, ERROR)); \
        CHECK(error_of_call.request == (about)); \
        FAILS((code)[0] ? "c.state" : "", sft_recorder_write_bytes(&recorder, "", 0, ERROR)); \
    } while (0)

static void beginnings(void)
{
    uint64_t more[20];
    sft_recorder recorders[2];
    const sft_sink good = sink_of(&chip);
    FAILS("c.null", sft_recorder_begin(NULL, &good, SPECS, 2, PAIRS, 1, memory, WORDS, buffer, 32, ERROR));
    FAILS("c.aligned", sft_recorder_begin(ASKEW(sft_recorder, recorders), &good, SPECS, 2, PAIRS, 1, memory, WORDS,
                                          buffer, 32, ERROR));
    BEGINS("", (void)0);
    BEGINS("c.null", the_sink = NULL);
    BEGINS("c.aligned", the_sink = ASKEW(sft_sink, &sink));
    BEGINS("c.null", the_specs = NULL);
    BEGINS("c.aligned", the_specs = ASKEW(sft_spec, specs));
    BEGINS("c.length", count = SIZE_MAX);
    BEGINS("c.null", the_pairs = NULL);
    BEGINS("c.aligned", (the_pairs = ASKEW(sft_pair, pairs)));
    BEGINS("c.length", pair_count = SIZE_MAX / sizeof(sft_pair));
    BEGINS("c.null", the_memory = NULL);
    BEGINS("c.aligned", (the_memory = ASKEW(uint64_t, memory), words--));
    BEGINS("c.memory", words--);
    BEGINS("c.memory", words = 0);
    BEGINS("c.length", words = SIZE_MAX);
    BEGINS("c.null", the_buffer = NULL);
    BEGINS("c.length", len = SIZE_MAX);
    BEGINS("limit.buffer", len = 0);
    BEGINS("c.storage", sink.write = NULL);
    BEGINS("c.storage", sink.unit = 0);
    BEGINS("c.storage", sink.unit = 3);
    BEGINS("c.storage", sink.unit = SIZE_MAX);
    BEGINS("c.storage", (sink.unit = 16, sink.prepare = NULL));
    BEGINS("limit.buffer", sink.unit = 64);
    BEGINS("", (sink.unit = 32, chip.wrong_call = 0));
    BEGINS("limit.capacity", sink.capacity = 20);
    BEGINS_AT("c.null", 1, specs[1].name = NULL);
    BEGINS_AT("c.utf8", 0, specs[0].name = NOT_UTF8);
    BEGINS_AT("c.dtype", 0, specs[0].dtype = 0);
    BEGINS_AT("c.dtype", 0, specs[0].dtype = SFT_F32 | SFT_I8);
    BEGINS_AT("c.dtype", 0, specs[0].dtype = UINT32_C(1) << 22);
    BEGINS_AT("c.rank", 0, specs[0].rank = 9);
    BEGINS_AT("c.rank", 0, specs[0].rank = UINT32_MAX);
    BEGINS_AT("usage.overflow", 0, specs[0].shape[0] = UINT64_MAX);
    BEGINS_AT("usage.name", 1, specs[1].name = "a");
    BEGINS_AT("usage.order", 1, (specs[0].dtype = SFT_I8, specs[1].dtype = SFT_F32));
    BEGINS_AT("c.null", 0, pairs[0].key = NULL);
    BEGINS_AT("c.null", 0, pairs[0].value = NULL);
    BEGINS_AT("c.utf8", 0, pairs[0].key = NOT_UTF8);
    BEGINS_AT("c.utf8", 0, pairs[0].value = NOT_UTF8);
    BEGINS_AT("usage.key", 1, (pairs[1] = pairs[0], pair_count = 2, the_memory = more, words = 20));
    BEGINS_AT("usage.order", 1,
              (pairs[1].key = "kex", pairs[1].value = "", pair_count = 2, the_memory = more, words = 20));
    BEGINS("limit.buffer", len = 7);
    BEGINS("", len = 8);
    BEGINS("", (count = 0, the_specs = NULL));
    BEGINS("", (pair_count = 0, the_pairs = NULL));
    BEGINS("", (count = pair_count = 0, the_memory = NULL, words = 0));
}

static sft_recorder written;

/* Records the file, and returns the first status that is not SFT_OK. */
static sft_status record(flash *it, size_t unit)
{
    static const float a[2] = { 1, 2 };
    static const int8_t b[3] = { -1, 0, 1 };
    sft_sink sink = sink_of(it);
    sft_status status;
    sink.unit = unit;
    status = sft_recorder_begin(&written, &sink, SPECS, 2, PAIRS, 1, memory, WORDS, buffer, unit > 8 ? 32 : 8,
                                ERROR);
    THEN(sft_recorder_write_f32(&written, a, 2, ERROR));
    THEN(sft_recorder_write_i8(&written, b, 3, ERROR));
    return status != SFT_OK ? status : sft_recorder_finish(&written, ERROR);
}

static sft_file_receiver stored;
static sft_tensor stored_tensors[2];

/* Stores the file, up to this length. */
static sft_status store_part(flash *it, size_t unit, size_t len)
{
    sft_sink sink = sink_of(it);
    static uint8_t units[64];
    const size_t units_len = unit > 8 ? 2 * unit : 16;
    sft_status status;
    sink.unit = unit;
    status = sft_file_receiver_begin(&stored, &sink, FILE_LEN, both, stored_tensors, 2, units, units_len, ERROR);
    THEN(sft_file_receiver_push(&stored, file, len / 2, ERROR));
    THEN(sft_file_receiver_push(&stored, file + len / 2, len - len / 2, ERROR));
    return status != SFT_OK ? status : sft_file_receiver_finish(&stored, ERROR);
}

static sft_status store_file(flash *it, size_t unit)
{
    return store_part(it, unit, FILE_LEN);
}

static void bad_writes(sft_status (*write_file)(flash *it, size_t unit))
{
    static const struct {
        const char *code;
        int32_t returns;
    } ROWS[] = {
        { "storage.failed", -7 },  { "storage.failed", INT32_MIN }, { "storage.count", INT32_MAX },
        { "storage.count", 1000 }, { "storage.full", 0 },
    };
    size_t unit, i;
    int calls, call;
    for (unit = 1; unit <= 32; unit *= 2) {
        memset(&chip, 0, sizeof chip);
        PASSES(write_file(&chip, unit));
        FAILS("c.state", sft_recorder_finish(&written, ERROR));
        FAILS("c.state", sft_file_receiver_finish(&stored, ERROR));
        calls = chip.calls;
        CHECK(calls >= 5);
        for (call = 1; call <= calls; call++) {
            for (i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
                const char *expected;
                sft_status status;
                char code[SFT_CODE_LEN] = "";
                memset(&chip, 0, sizeof chip);
                chip.wrong_call = call;
                chip.returns = ROWS[i].returns;
                status = write_file(&chip, unit);
                /* To prepare and to flush return 0; every other number is an error. */
                expected = chip.is_write ? ROWS[i].code : "storage.failed";
                if (status == SFT_OK) {
                    CHECK(ROWS[i].returns == 0 && !chip.is_write && chip.calls == calls);
                    continue;
                }
                sft_error_code(&error_of_call, code, sizeof code);
                CHECK(status == SFT_STORAGE && strcmp(code, expected) == 0 && chip.calls == call);
                CHECK(error_of_call.storage == chip.returns);
                /* The file is valid only after SFT_OK; a last flush that fails comes after its last byte. */
                CHECK(chip.bytes[7] != 0 || call == calls);
                FAILS("c.state", sft_recorder_write_bytes(&written, "", 0, ERROR));
                FAILS("c.state", sft_recorder_finish(&written, ERROR));
                FAILS("c.state", sft_file_receiver_push(&stored, file, 1, ERROR));
                FAILS("c.state", sft_file_receiver_finish(&stored, ERROR));
                CHECK(stored_tensors[0].dtype == 0 && stored_tensors[1].dtype == 0);
            }
        }
    }
}

/* A count that is not a multiple of the unit is an error. */
static void parts_of_units(void)
{
    int32_t part;
    for (part = 1; part < 8; part++) {
        memset(&chip, 0, sizeof chip);
        chip.wrong_call = 2;
        chip.returns = part;
        FAILS(part == 4 ? "" : "storage.count", record(&chip, 4));
    }
}

static void misused_recorders(void)
{
    static const float a[3] = { 1, 2, 3 };
    static const int8_t b[4] = { 1, 2, 3, 4 };
    static const double unaligned[2] = { 0, 0 };
    sft_recorder recorder, moved;
    const sft_sink sink = sink_of(&chip);
    memset(&chip, 0, sizeof chip);
    memset(&recorder, 0xA5, sizeof recorder);
    FAILS("c.state", sft_recorder_finish(&recorder, ERROR));
    FAILS("c.null", sft_recorder_finish(NULL, ERROR));
    PASSES(sft_recorder_begin(&recorder, &sink, SPECS, 2, PAIRS, 1, memory, WORDS, buffer, 32, ERROR));
    memcpy(&moved, &recorder, sizeof moved);
#define WRITES(function, type, code) \
    do { \
        FAILS("c.null", function(NULL, (const type *)unaligned, 1, ERROR)); \
        FAILS("c.null", function(&recorder, NULL, 1, ERROR)); \
        FAILS("c.length", function(&recorder, (const type *)unaligned, SIZE_MAX, ERROR)); \
        FAILS("c.state", function(&moved, (const type *)unaligned, 1, ERROR)); \
        FAILS(code, function(&recorder, (const type *)unaligned, 1, ERROR)); \
        if (sizeof(type) > 1) { \
            FAILS("c.aligned", function(&recorder, ASKEW(const type, unaligned), 1, ERROR)); \
        } \
    } while (0)
    WRITES(sft_recorder_write_f64, double, "usage.values");
    WRITES(sft_recorder_write_i8, int8_t, "usage.values");
    WRITES(sft_recorder_write_u8, uint8_t, "usage.values");
    WRITES(sft_recorder_write_i16, int16_t, "usage.values");
    WRITES(sft_recorder_write_u16, uint16_t, "usage.values");
    WRITES(sft_recorder_write_i32, int32_t, "usage.values");
    WRITES(sft_recorder_write_u32, uint32_t, "usage.values");
    WRITES(sft_recorder_write_i64, int64_t, "usage.values");
    WRITES(sft_recorder_write_u64, uint64_t, "usage.values");
    FAILS("usage.bytes", sft_recorder_write_f32(&recorder, a, 3, ERROR));
    FAILS("usage.bytes", sft_recorder_write_bytes(&recorder, a, 9, ERROR));
    WRITES(sft_recorder_write_bytes, char, "");
#undef WRITES
    /* The first element is incomplete. */
    FAILS("usage.bytes", sft_recorder_write_f32(&recorder, a, 2, ERROR));
    PASSES(sft_recorder_write_bytes(&recorder, a, 7, ERROR));
    PASSES(sft_recorder_write_bytes(&recorder, NULL, 0, ERROR));
    FAILS("usage.bytes", sft_recorder_write_i8(&recorder, b, 4, ERROR));
    PASSES(sft_recorder_write_i8(&recorder, b, 2, ERROR));
    FAILS("usage.incomplete", sft_recorder_finish(&recorder, ERROR));
    FAILS("c.state", sft_recorder_write_i8(&recorder, b, 1, ERROR));
    FAILS("c.state", sft_recorder_finish(&recorder, ERROR));
    CHECK(chip.bytes[7] == 0xFF);
    PASSES(sft_recorder_begin(&recorder, &sink, SPECS, 2, PAIRS, 1, memory, WORDS, buffer, 32, ERROR));
    PASSES(sft_recorder_write_f32(&recorder, a, 2, ERROR));
    PASSES(sft_recorder_write_i8(&recorder, b, 3, ERROR));
    FAILS("usage.complete", sft_recorder_write_i8(&recorder, b, 1, ERROR));
    PASSES(sft_recorder_finish(&recorder, ERROR));
}

/* Calls everything with `written`, or with `stored` if that is the object, while it is in use. */
static void use_writer(void *object)
{
    static flash another;
    const sft_sink sink = sink_of(&another);
    const sft_error outer = error_of_call;
    called++;
    /* With the memory that they borrow, also when they end. */
    if (object == &stored) {
        FAILS("c.reentered", sft_file_receiver_push(&stored, file, 1, ERROR));
        FAILS("c.reentered", sft_file_receiver_finish(&stored, ERROR));
        FAILS("c.reentered", sft_file_receiver_begin(&stored, &sink, 8, both, stored_tensors, 2, buffer, 32, ERROR));
    } else {
        FAILS("c.reentered", sft_recorder_write_f32(&written, NULL, 0, ERROR));
        FAILS("c.reentered", sft_recorder_write_bytes(&written, "", 0, ERROR));
        FAILS("c.reentered", sft_recorder_finish(&written, ERROR));
        FAILS("c.reentered",
              sft_recorder_begin(&written, &sink, SPECS, 2, PAIRS, 1, memory, WORDS, buffer, 32, ERROR));
    }
    CHECK(another.calls == 0);
    error_of_call = outer;
}

static void writers_in_callbacks(void)
{
    sft_model model;
    sft_tensor tensors[2];
    sft_storage storage;
    float a[2] = { 0, 0 };
    memset(&chip, 0, sizeof chip);
    chip.wrong_call = -1;
    chip.call = use_writer;
    called = 0;
    PASSES(record(&chip, 8));
    CHECK(called == chip.calls && called >= 5);
    /* The file is as without these calls. */
    storage = sft_memory(chip.bytes, 8 + chip.bytes[0] + 256u * chip.bytes[1] + 11);
    PASSES(sft_open(&model, &storage, both, tensors, 2, window, 64, ERROR));
    PASSES(sft_read_f32(&model, &tensors[0], 0, a, 2, ERROR));
    CHECK(a[0] == 1 && a[1] == 2);
    chip.object = &stored;
    chip.calls = called = 0;
    PASSES(store_file(&chip, 8));
    CHECK(called == chip.calls && called >= 5 && memcmp(chip.bytes, file, FILE_LEN) == 0);
}

/* ---- Files that are stored ----------------------------------------------------------------------------- */

static void beginnings_of_files(void)
{
    sft_file_receiver receivers[2];
    sft_file_receiver *it = receivers;
    sft_sink sinks[2];
    sft_request requests[2];
    sft_tensor t[3];
    const sft_sink good = sink_of(&chip);
#define BEGINS_FILE(code, it, sink, len, requests, t, count, buffer, buffer_len) \
    FAILS(code, sft_file_receiver_begin(it, sink, len, requests, t, count, buffer, buffer_len, ERROR))
    memset(&chip, 0, sizeof chip);
    BEGINS_FILE("c.null", NULL, &good, FILE_LEN, both, t, 2, buffer, 32);
    BEGINS_FILE("c.null", it, NULL, FILE_LEN, both, t, 2, buffer, 32);
    BEGINS_FILE("c.null", it, &good, FILE_LEN, NULL, t, 2, buffer, 32);
    BEGINS_FILE("c.null", it, &good, FILE_LEN, both, NULL, 2, buffer, 32);
    BEGINS_FILE("c.aligned", it, &good, FILE_LEN, both, ASKEW(sft_tensor, t), 2, buffer, 32);
    BEGINS_FILE("c.length", it, &good, FILE_LEN, both, t, SIZE_MAX, buffer, 32);
    BEGINS_FILE("c.null", it, &good, FILE_LEN, both, t, 2, NULL, 32);
    BEGINS_FILE("c.length", it, &good, FILE_LEN, both, t, 2, buffer, SIZE_MAX);
    BEGINS_FILE("limit.buffer", it, &good, FILE_LEN, both, t, 2, buffer, 7);
    BEGINS_FILE("container.short", it, &good, 7, both, t, 2, buffer, 32);
    BEGINS_FILE("limit.capacity", it, &good, 513, both, t, 2, buffer, 32);
    CHECK(t[0].dtype == 0 && t[1].dtype == 0 && chip.calls == 0);
    requests[0] = requests[1] = A;
    requests[1].rank = 9;
    BEGINS_FILE("c.rank", it, &good, FILE_LEN, requests, t, 2, buffer, 32);
    BEGINS_FILE("c.overlap", it, &good, FILE_LEN, requests, t, 2, requests, 32);
    BEGINS_FILE("c.overlap", it, &good, FILE_LEN, both, t, 2, &t[1], 32);
    BEGINS_FILE("c.overlap", it, &good, FILE_LEN, both, t, 2, it, 32);
    sinks[0] = good;
    BEGINS_FILE("c.overlap", it, sinks, FILE_LEN, both, t, 2, sinks, 32);
    sinks[0].unit = SIZE_MAX / 2 + 1;
    BEGINS_FILE(sizeof(size_t) > 4 ? "c.storage" : "limit.buffer", it, sinks, FILE_LEN, both, t, 2, buffer, 32);
    FAILS("c.state", sft_file_receiver_push(it, file, 0, ERROR));
    BEGINS_FILE("", it, &good, FILE_LEN, NULL, NULL, 0, buffer, 8);
    PASSES(sft_file_receiver_push(it, file, 0, ERROR));
#undef BEGINS_FILE
}

/* Without its last bytes no file is valid, nor with too many. A receiver that has ended takes no more. */
static void misused_file_receivers(void)
{
    sft_file_receiver moved;
    const sft_sink sink = sink_of(&chip);
    size_t cut;
    FAILS("c.null", sft_file_receiver_finish(NULL, ERROR));
    for (cut = 0; cut < FILE_LEN; cut++) {
        memset(&chip, 0, sizeof chip);
        FAILS(cut < 8 ? "container.short" : cut < DATA ? "container.header-beyond-file" : "data.short",
              store_part(&chip, 1, cut));
        CHECK(chip.bytes[7] == 0xFF && stored_tensors[0].dtype == 0 && stored_tensors[1].dtype == 0);
        FAILS("c.state", sft_file_receiver_push(&stored, file + cut, 1, ERROR));
    }
    PASSES(store_file(&chip, 1));
    CHECK(stored_tensors[1].offset == DATA + 8 && memcmp(chip.bytes, file, FILE_LEN) == 0);
    PASSES(sft_file_receiver_begin(&stored, &sink, FILE_LEN, both, stored_tensors, 2, buffer, 16, ERROR));
    memcpy(&moved, &stored, sizeof moved);
    FAILS("c.state", sft_file_receiver_finish(&moved, ERROR));
    FAILS("c.null", sft_file_receiver_push(&stored, NULL, 1, ERROR));
    FAILS("c.overlap", sft_file_receiver_push(&stored, &stored, 1, ERROR));
    PASSES(sft_file_receiver_push(&stored, file, FILE_LEN, ERROR));
    FAILS("data.trailing", sft_file_receiver_push(&stored, file, 1, ERROR));
    FAILS("c.state", sft_file_receiver_finish(&stored, ERROR));
    CHECK(chip.bytes[7] == 0xFF && stored_tensors[0].dtype == 0);
}

static void verifiers(void)
{
    sft_verifier two[2];
    memset(two, 0xA5, sizeof two);
    FAILS("c.null", sft_verifier_begin(NULL, ERROR));
    FAILS("c.state", sft_verifier_update(two, file, 1, ERROR));
    FAILS("c.state", sft_verifier_verify(two, ERROR));
    PASSES(sft_verifier_begin(two, ERROR));
    two[1] = two[0];
    FAILS("c.state", sft_verifier_update(&two[1], file, 1, ERROR));
    FAILS("c.null", sft_verifier_update(two, NULL, 1, ERROR));
    FAILS("c.overlap", sft_verifier_update(two, two, 1, ERROR));
    PASSES(sft_verifier_update(two, file, FILE_LEN, ERROR));
    FAILS("usage.sum", sft_verifier_verify(two, ERROR));
    FAILS("c.state", sft_verifier_verify(two, ERROR));
    PASSES(sft_verifier_begin(two, ERROR));
    FAILS("container.short", sft_verifier_verify(two, ERROR));
}

/* ---- Arguments of one call that overlap ---------------------------------------------------------------- */

/* For two arrays, of which the first begins at `AT`. */
static union {
    uint64_t words[64];
    uint8_t bytes[512];
} shared;
#define AT (shared.bytes + 128)

/* A model that is open. */
static sft_model listed;

static sft_status open_tensors(void *array, size_t len, void *bytes, size_t bytes_len)
{
    static sft_model model;
    const sft_storage storage = sft_memory(file, FILE_LEN);
    return sft_open(&model, &storage, both, (sft_tensor *)array, len / sizeof(sft_tensor), bytes, bytes_len,
                    ERROR);
}

static sft_status open_slots(void *array, size_t len, void *bytes, size_t bytes_len)
{
    static sft_model model;
    const sft_storage storage = sft_memory(file, FILE_LEN);
    return sft_open_unordered(&model, &storage, (sft_slot *)array, len / sizeof(sft_slot), bytes, bytes_len,
                              ERROR);
}

static sft_status find_tensors(void *array, size_t len, void *bytes, size_t bytes_len)
{
    return sft_find(&listed, both, (sft_tensor *)array, len / sizeof(sft_tensor), bytes, bytes_len, ERROR);
}

static sft_status list_names(void *array, size_t len, void *bytes, size_t bytes_len)
{
    int visited = 0;
    return sft_for_each(&listed, visit_nothing, &visited, array, len, bytes, bytes_len, ERROR);
}

static sft_status copy_value(void *array, size_t len, void *bytes, size_t bytes_len)
{
    return sft_metadata(&listed, "key", (char *)array, len, NULL, bytes, bytes_len, ERROR);
}

static sft_status validate_slots_text(void *array, size_t len, void *bytes, size_t bytes_len)
{
    return sft_validate_names(&listed, NULL, (sft_slot *)array, len / sizeof(sft_slot), bytes, bytes_len,
                              window, 64, ERROR);
}

static sft_status validate_slots_window(void *array, size_t len, void *bytes, size_t bytes_len)
{
    return sft_validate_names(&listed, NULL, (sft_slot *)array, len / sizeof(sft_slot), text, 64, bytes,
                              bytes_len, ERROR);
}

static sft_status validate_text_window(void *array, size_t len, void *bytes, size_t bytes_len)
{
    return sft_validate_names(&listed, NULL, slots, 4, array, len, bytes, bytes_len, ERROR);
}

static sft_status begin_memory(void *array, size_t len, void *bytes, size_t bytes_len)
{
    static sft_recorder recorder;
    const sft_sink sink = sink_of(&chip);
    return sft_recorder_begin(&recorder, &sink, SPECS, 2, PAIRS, 1, (uint64_t *)array, len / 8, bytes,
                              bytes_len, ERROR);
}

/* The sentence says which element of which table is not valid. */
static void sentences_of_tables(void)
{
    sft_model model;
    sft_tensor tensors[2];
    sft_recorder recorder;
    const sft_storage storage = sft_memory(file, FILE_LEN);
    const sft_request requests[2] = { A, SFT_REQUIRED(NULL, SFT_F32, 1, 2) };
    const sft_spec spec = { NULL, SFT_F32, 0, { 0 } };
    const sft_pair pair = { "key", NULL };
    uint64_t words[SFT_RECORDER_MEMORY(1, 1)];
    uint8_t bytes[8];
    flash it;
    const sft_sink sink = sink_of(&it);
    memset(&it, 0, sizeof it);
#define SAYS(sentence, call) \
    do { \
        char said[80]; \
        FAILS("c.null", call); \
        sft_error_sentence(ERROR, said, sizeof said); \
        CHECK(strcmp(said, "error[c.null]: " sentence ": a pointer is NULL") == 0); \
    } while (0)
    SAYS("requests[1]", sft_open(&model, &storage, requests, tensors, 2, window, 64, ERROR));
    SAYS("specs[0]", sft_recorder_begin(&recorder, &sink, &spec, 1, NULL, 0, words, 5, bytes, 8, ERROR));
    SAYS("pairs[0]", sft_recorder_begin(&recorder, &sink, NULL, 0, &pair, 1, words, 4, bytes, 8, ERROR));
#undef SAYS
}

/* Objects, and what is only read. */
static void other_overlaps(void)
{
    static union {
        sft_model model;
        sft_storage storage;
        sft_request request;
        sft_tensor tensor;
        sft_receiver receiver;
        sft_target target;
        sft_recorder recorder;
        sft_sink sink;
        sft_spec spec;
        sft_pair pair;
        sft_slot slots[8];
        char key[4];
        uint64_t words[64];
    } it;
    sft_model model;
    sft_tensor tensor;
    sft_receiver receiver;
    sft_target targets[2];
    sft_recorder recorder;
    float values[4];
    int found;
    const sft_storage storage = sft_memory(file, FILE_LEN);
    const sft_sink sink = sink_of(&chip);
#define INTO(byte) ((void *)((char *)&it + (byte)))
    /* The last two words of an object may be unused. */
    FAILS("c.overlap", sft_open(&it.model, &storage, NULL, NULL, 0, INTO(sizeof(sft_model) - 17), 8, ERROR));
    FAILS("c.overlap", sft_open(&it.model, &storage, both, (sft_tensor *)INTO(8), 1, window, 64, ERROR));
    it.storage = storage;
    FAILS("c.overlap", sft_open(&it.model, &it.storage, NULL, NULL, 0, window, 64, ERROR));
    FAILS("c.overlap", sft_open(&model, &it.storage, NULL, NULL, 0, INTO(sizeof(sft_storage) - 1), 64, ERROR));
    it.request = A;
    FAILS("c.overlap", sft_open(&model, &storage, &it.request, &tensor, 1, INTO(0), 64, ERROR));
    FAILS("c.overlap", sft_open(&model, &storage, &it.request, &it.tensor, 1, window, 64, ERROR));
    CHECK(it.request.dtypes == A.dtypes && it.request.name == A.name);
    FAILS("c.overlap", sft_open(&it.model, &storage, &it.request, &tensor, 1, window, 64, ERROR));
    FAILS("c.overlap", sft_open_unordered(&it.model, &storage, it.slots, 4, window, 64, ERROR));
    FAILS("c.overlap", sft_open_unordered(&it.model, &storage, NULL, 0, INTO(8), 64, ERROR));
    it.storage = storage;
    FAILS("c.overlap", sft_open_unordered(&it.model, &it.storage, NULL, 0, window, 64, ERROR));
    PASSES(sft_open(&it.model, &storage, &A, &tensor, 1, window, 64, ERROR));
    FAILS("c.overlap", sft_find(&it.model, &A, &it.tensor, 1, window, 64, ERROR));
    FAILS("c.overlap", sft_find(&it.model, &A, &tensor, 1, INTO(8), 64, ERROR));
    FAILS("c.overlap", sft_find(&it.model, &A, &tensor, 1, &tensor, 8, ERROR));
    FAILS("c.overlap", sft_for_each(&it.model, visit_nothing, NULL, text, 64, INTO(8), 8, ERROR));
    FAILS("c.overlap", sft_for_each(&it.model, visit_nothing, NULL, INTO(8), 8, window, 64, ERROR));
    FAILS("c.overlap", sft_validate_names(&it.model, NULL, slots, 4, text, 64, INTO(8), 8, ERROR));
    FAILS("c.overlap", sft_validate_names(&it.model, NULL, it.slots, 4, text, 64, window, 64, ERROR));
    FAILS("c.overlap", sft_metadata(&it.model, "key", text, 64, &found, INTO(8), 8, ERROR));
    FAILS("c.overlap", sft_metadata(&it.model, "key", (char *)INTO(8), 8, &found, window, 64, ERROR));
    FAILS("c.overlap", sft_verify_crc32(&it.model, 0, INTO(0), sizeof it.model, ERROR));
    FAILS("c.overlap", sft_verify_sha256(&it.model, file, INTO(8), 8, ERROR));
    FAILS("c.overlap", sft_verify_embedded(&it.model, INTO(8), 8, ERROR));
    FAILS("c.overlap", sft_read_bytes(&it.model, &tensor, 0, INTO(16), 8, ERROR));
    FAILS("c.overlap", sft_read_bytes(&it.model, &tensor, 0, &tensor.bytes, 8, ERROR));
    FAILS("c.overlap", sft_read_f32(&it.model, &tensor, 0, (float *)INTO(16), 2, ERROR));
    FAILS("c.overlap", sft_read_f32(&it.model, &tensor, 0, (float *)(void *)&tensor.bytes, 2, ERROR));
    PASSES(sft_read_f32(&it.model, &tensor, 0, values, 2, ERROR));
    FAILS("c.overlap", sft_metadata(&it.model, "key", text, 64, (int *)INTO(8), window, 64, ERROR));
    FAILS("c.overlap", sft_metadata(&it.model, "key", (char *)&found, 4, &found, window, 64, ERROR));
    PASSES(sft_find(&it.model, &A, &tensor, 1, window, 64, ERROR));
    memcpy(text, "key", 4);
    FAILS("c.overlap", sft_metadata(&it.model, text, text, 64, &found, window, 64, ERROR));
    FAILS("c.overlap", sft_metadata(&it.model, text, text + 3, 8, &found, window, 64, ERROR));
    FAILS("c.overlap", sft_metadata(&it.model, text, (char *)values, 8, &found, text, 64, ERROR));
    PASSES(sft_metadata(&it.model, text, text + 4, 8, &found, window, 64, ERROR));
    CHECK(found == 1 && strcmp(text, "key") == 0 && strcmp(text + 4, "value") == 0);
    FAILS("c.overlap", sft_receiver_begin(&it.receiver, &it.target, 1, ERROR));
    PASSES(sft_receiver_begin(&it.receiver, targets, 2, ERROR));
    FAILS("c.overlap", sft_receiver_add_bytes(&it.receiver, &A, INTO(8), 8, ERROR));
    FAILS("c.overlap", sft_receiver_push(&it.receiver, INTO(1), 1, ERROR));
    PASSES(sft_receiver_add_f32(&it.receiver, &A, values, 2, ERROR));
    FAILS("c.overlap", sft_receiver_tensor(&it.receiver, 0, (sft_tensor *)INTO(8), ERROR));
    PASSES(sft_receiver_tensor(&it.receiver, 0, &tensor, ERROR));
    PASSES(sft_receiver_begin(&receiver, targets, 2, ERROR));
    FAILS("c.overlap", sft_receiver_add_bytes(&receiver, &A, &targets[1], 8, ERROR));
    it.request = A;
    FAILS("c.overlap", sft_receiver_add_bytes(&receiver, &it.request, INTO(8), 8, ERROR));
    PASSES(sft_receiver_add_f32(&receiver, &A, values + 1, 2, ERROR));
    FAILS("c.overlap", sft_receiver_add_f32(&receiver, &A, values, 2, ERROR));
    FAILS("c.overlap", sft_receiver_add_bytes(&receiver, &B, values + 2, 1, ERROR));
    PASSES(sft_receiver_add_bytes(&receiver, &B, values + 3, 4, ERROR));
    FAILS("c.overlap", sft_recorder_begin(&it.recorder, &sink, NULL, 0, NULL, 0, NULL, 0, INTO(8), 8, ERROR));
    FAILS("c.overlap", sft_recorder_begin(&it.recorder, &sink, SPECS, 2, PAIRS, 1, it.words, 64, buffer, 32, ERROR));
    it.spec = SPECS[0];
    FAILS("c.overlap", sft_recorder_begin(&recorder, &sink, &it.spec, 1, NULL, 0, it.words, 64, buffer, 32, ERROR));
    it.pair = PAIRS[0];
    FAILS("c.overlap", sft_recorder_begin(&recorder, &sink, NULL, 0, &it.pair, 1, it.words, 64, buffer, 32, ERROR));
    it.sink = sink;
    FAILS("c.overlap", sft_recorder_begin(&recorder, &it.sink, SPECS, 2, PAIRS, 1, it.words, 64, buffer, 32, ERROR));
    PASSES(sft_recorder_begin(&it.recorder, &sink, SPECS, 2, PAIRS, 1, memory, WORDS, buffer, 32, ERROR));
    FAILS("c.overlap", sft_recorder_write_bytes(&it.recorder, INTO(7), 1, ERROR));
    FAILS("c.overlap", sft_recorder_write_f32(&it.recorder, (float *)INTO(8), 1, ERROR));
    PASSES(sft_recorder_write_bytes(&it.recorder, "", 1, ERROR));
#undef INTO
}

static void overlaps(void)
{
    sft_tensor tensors[2];
    sft_recorder recorder;
    const sft_sink sink = sink_of(&chip);
    memset(&recorder, 0, sizeof recorder);
    memset(&chip, 0, sizeof chip);
    OPEN(&listed, tensors);
#define OVERLAPS(function, len) \
    do { \
        PASSES(function(AT, len, AT - 64, 64)); \
        PASSES(function(AT, len, AT + (len), 64)); \
        FAILS("c.overlap", function(AT, len, AT - 64, 65)); \
        FAILS("c.overlap", function(AT, len, AT + (len) - 1, 64)); \
        FAILS("c.overlap", function(AT, len, AT, len)); \
        FAILS("c.overlap", function(AT, len, AT + 8, 8)); \
        FAILS("c.overlap", function(AT, len, AT - 64, (len) + 128)); \
    } while (0)
    OVERLAPS(open_tensors, 2 * sizeof(sft_tensor));
    OVERLAPS(find_tensors, 2 * sizeof(sft_tensor));
    OVERLAPS(open_slots, 4 * sizeof(sft_slot));
    OVERLAPS(list_names, 64);
    OVERLAPS(copy_value, 64);
    OVERLAPS(validate_slots_text, 4 * sizeof(sft_slot));
    OVERLAPS(validate_slots_window, 4 * sizeof(sft_slot));
    OVERLAPS(validate_text_window, 64);
    OVERLAPS(begin_memory, WORDS * 8);
#undef OVERLAPS
    other_overlaps();
    /* No array overlaps with one of length 0. */
    PASSES(sft_find(&listed, NULL, (sft_tensor *)(void *)AT, 0, AT, 64, ERROR));
    PASSES(sft_recorder_begin(&recorder, &sink, NULL, 0, NULL, 0, shared.words + 16, 0, AT, 64, ERROR));
}

int main(void)
{
    make_file();
    both[0] = A;
    both[1] = B;
    error_texts();
    pointers_of_open();
    tensors_after_errors();
    requests_of_open();
    storages_of_open();
    pointers_of_open_unordered();
    states_of_models();
    pointers_of_models();
    memory_of_values();
    reads();
    forged_tensors();
    bad_reads();
    calls_from_callbacks();
    other_models_in_callbacks();
    additions();
    receivers();
    rejected_files();
    beginnings();
    bad_writes(record);
    bad_writes(store_file);
    beginnings_of_files();
    misused_file_receivers();
    verifiers();
    parts_of_units();
    misused_recorders();
    writers_in_callbacks();
    overlaps();
    sentences_of_tables();
    return checks_end("misuse");
}
