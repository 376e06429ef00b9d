#include "judge.h"

/* How many models there were. */
typedef struct wrong_models {
    /* Rejected as expected by every function. */
    uint32_t rejected;
    /* The right one, read by every function. */
    uint32_t read;
    uint32_t failed;
} wrong_models;

/* What the program expects: NET of tests/wrong_models/models.rs. */
static const sft_request NET[3] = {
    SFT_REQUIRED("fc.weight", SFT_I8, 2, 3, 8),
    SFT_REQUIRED("fc.scale", SFT_F16 | SFT_BF16, 1, 3),
    SFT_REQUIRED("fc.bias", SFT_F32, 1, 3),
};

/* Calls the next function, if all before it have succeeded. */
#define THEN(call) status = status != SFT_OK ? status : (call)

#define LONGEST 512

/* 0x1110 as an F16. */
#define LAST_SCALE 0.00061798095703125f

/* The numbers that a function has read. */
typedef struct numbers {
    int8_t weight[24];
    float scale[3];
    float bias[3];
} numbers;

/* A model, and the sum of the right one. */
typedef struct input {
    uint8_t file[LONGEST];
    size_t len;
    const uint8_t *sum;
} input;

static const numbers NONE = { { 0 }, { 0 }, { 0 } };

/* The data of the right model is 0, 1, 2, … */
static int is_right(const numbers *read)
{
    size_t i;
    for (i = 0; i < 12; i++) {
        if (((const uint8_t *)read->bias)[i] != i) {
            return 0;
        }
    }
    for (i = 0; i < 24; i++) {
        if (read->weight[i] != (int8_t)(18 + i)) {
            return 0;
        }
    }
    return read->scale[2] == LAST_SCALE;
}

static sft_status read_all(sft_model *model, const sft_tensor tensors[3], numbers *read, sft_error *error)
{
    sft_status status = sft_read_i8(model, &tensors[0], 0, read->weight, 24, error);
    THEN(sft_read_f32(model, &tensors[1], 0, read->scale, 3, error));
    THEN(sft_read_f32(model, &tensors[2], 0, read->bias, 3, error));
    return status;
}

static sft_status open_it(const input *in, sft_model *model, sft_tensor tensors[3], sft_error *error)
{
    const sft_storage storage = sft_memory(in->file, in->len);
    uint8_t window[16];
    return sft_open(model, &storage, NET, tensors, 3, window, sizeof window, error);
}

static sft_status with_open(const input *in, numbers *read, sft_error *error)
{
    sft_model model;
    sft_tensor tensors[3];
    sft_status status = open_it(in, &model, tensors, error);
    return status != SFT_OK ? status : read_all(&model, tensors, read, error);
}

/* Opened without requests; read with whatever the search has left. */
static sft_status with_find(const input *in, numbers *read, sft_error *error)
{
    const sft_storage storage = sft_memory(in->file, in->len);
    sft_model model;
    sft_tensor tensors[3];
    sft_error other;
    uint8_t window[64];
    sft_status found, status;
    status = sft_open(&model, &storage, NULL, NULL, 0, window, sizeof window, error);
    if (status != SFT_OK) {
        return status;
    }
    found = sft_find(&model, NET, tensors, 3, window, sizeof window, error);
    status = read_all(&model, tensors, read, &other);
    if (found != SFT_OK) {
        return found;
    }
    *error = other;
    return status;
}

/* Reads with the tensors of an open that has failed. */
static sft_status with_open_anyway(const input *in, numbers *read, sft_error *error)
{
    sft_model model;
    sft_tensor tensors[3];
    sft_error other;
    sft_status status = open_it(in, &model, tensors, error);
    sft_status after = read_all(&model, tensors, read, &other);
    return status != SFT_OK ? status : after;
}

static sft_status push(sft_receiver *receiver, const input *in, sft_error *error)
{
    size_t at;
    for (at = 0; at < in->len; at += 5) {
        size_t len = in->len - at < 5 ? in->len - at : 5;
        sft_status status = sft_receiver_push(receiver, in->file + at, len, error);
        if (status != SFT_OK) {
            return status;
        }
    }
    return sft_receiver_end(receiver, error);
}

static sft_status with_receiver(const input *in, numbers *read, sft_error *error)
{
    sft_receiver receiver;
    sft_target targets[3];
    sft_status status = sft_receiver_begin(&receiver, targets, 3, error);
    THEN(sft_receiver_add_i8(&receiver, &NET[0], read->weight, 24, error));
    THEN(sft_receiver_add_f32(&receiver, &NET[1], read->scale, 3, error));
    THEN(sft_receiver_add_f32(&receiver, &NET[2], read->bias, 3, error));
    return status != SFT_OK ? status : push(&receiver, in, error);
}

static sft_status with_bytes(const input *in, numbers *read, sft_error *error)
{
    sft_receiver receiver;
    sft_target targets[3];
    uint8_t scale[6] = { 0 };
    sft_status status = sft_receiver_begin(&receiver, targets, 3, error);
    THEN(sft_receiver_add_bytes(&receiver, &NET[0], read->weight, 24, error));
    THEN(sft_receiver_add_bytes(&receiver, &NET[1], scale, 6, error));
    THEN(sft_receiver_add_bytes(&receiver, &NET[2], read->bias, 12, error));
    THEN(push(&receiver, in, error));
    read->scale[2] = scale[4] == 16 && scale[5] == 17 ? LAST_SCALE : 0;
    return status;
}

static sft_status with_sum(const input *in, numbers *read, sft_error *error)
{
    sft_model model;
    sft_tensor tensors[3];
    uint8_t buffer[64];
    sft_status status = open_it(in, &model, tensors, error);
    THEN(sft_verify_sha256(&model, in->sum, buffer, sizeof buffer, error));
    return status != SFT_OK ? status : read_all(&model, tensors, read, error);
}

static sft_status with_embedded(const input *in, numbers *read, sft_error *error)
{
    sft_model model;
    sft_tensor tensors[3];
    uint8_t buffer[7];
    sft_status status = open_it(in, &model, tensors, error);
    THEN(sft_verify_embedded(&model, buffer, sizeof buffer, error));
    return status != SFT_OK ? status : read_all(&model, tensors, read, error);
}

/* Storage for one file, in units of 16 bytes. */
static uint8_t stored[LONGEST];
/* The byte whose lowest bit is always 0; 0 for none. */
static size_t broken_at;

static int32_t store(void *context, uint64_t offset, const void *bytes, size_t len)
{
    (void)context;
    memcpy(stored + offset, bytes, len);
    stored[broken_at] &= broken_at == 0 ? 0xFF : 0xFE;
    return (int32_t)len;
}

static int32_t erase(void *context, uint64_t data_start, uint64_t file_len)
{
    (void)context;
    (void)data_start;
    (void)file_len;
    memset(stored, 0xFF, sizeof stored);
    return 0;
}

/* Stores the model as it arrives; with a sum, verifies it. */
static sft_status receive_file(const input *in, int has_sum, sft_error *error)
{
    static const sft_sink SINK = { store, erase, NULL, NULL, sizeof stored, 16 };
    sft_file_receiver receiver;
    sft_verifier verifier;
    sft_tensor tensors[3];
    uint8_t buffer[40];
    size_t at;
    sft_status status = sft_verifier_begin(&verifier, error);
    THEN(sft_file_receiver_begin(&receiver, &SINK, in->len, NET, tensors, 3, buffer, sizeof buffer, error));
    for (at = 0; at < in->len && status == SFT_OK; at += 5) {
        size_t len = in->len - at < 5 ? in->len - at : 5;
        status = sft_verifier_update(&verifier, in->file + at, len, error);
        THEN(sft_file_receiver_push(&receiver, in->file + at, len, error));
    }
    if (status == SFT_OK && has_sum) {
        status = sft_verifier_verify(&verifier, error);
    }
    return status == SFT_OK ? sft_file_receiver_finish(&receiver, error) : status;
}

/* Stores the model, and reads what is stored, if it is valid, also after an error; with a sum, verifies both. */
static sft_status update(const input *in, int has_sum, numbers *read, sft_error *error)
{
    const sft_storage storage = sft_memory(stored, in->len);
    sft_model model;
    sft_tensor tensors[3];
    sft_error other;
    uint8_t window[16];
    sft_status status;
    erase(NULL, 0, 0);
    status = receive_file(in, has_sum, error);
    if (sft_open(&model, &storage, NET, tensors, 3, window, sizeof window, &other) != SFT_OK) {
        return status;
    }
    status = has_sum ? sft_verify_embedded(&model, window, sizeof window, error) : SFT_OK;
    return status != SFT_OK ? status : read_all(&model, tensors, read, error);
}

static sft_status with_file_receiver(const input *in, numbers *read, sft_error *error)
{
    return update(in, 0, read, error);
}

static sft_status with_update(const input *in, numbers *read, sft_error *error)
{
    return update(in, 1, read, error);
}

/* A way to read the model, as a program would use it. */
typedef struct way {
    const char *name;
    sft_status (*read)(const input *in, numbers *read, sft_error *error);
} way;

static const way WAYS[] = {
    { "sft_open", with_open },
    { "sft_open, and its tensors after an error", with_open_anyway },
    { "sft_find", with_find },
    { "sft_receiver_add_i8, sft_receiver_add_f32", with_receiver },
    { "sft_receiver_add_bytes", with_bytes },
    { "sft_file_receiver_push", with_file_receiver },
};
static const way SUM = { "sft_verify_sha256", with_sum };
static const way EMBEDDED = { "sft_verify_embedded", with_embedded };
static const way UPDATE = { "sft_file_receiver_push, sft_verifier_update", with_update };

/* A model that is judged. */
typedef struct judged {
    print_to to;
    const pack_record *record;
    const input *in;
    /* What the last way said. */
    sft_error error;
    uint32_t failed;
} judged;

static void fails(judged *it, const way *by, const char *what)
{
    it->failed++;
    print_text(it->to, "wrong: ");
    print_text(it->to, it->record->name);
    print_text(it->to, ": ");
    print_text(it->to, by->name);
    print_text(it->to, ": ");
    print_text(it->to, what);
    print_text(it->to, "\n");
}

static void must_read(judged *it, const way *by)
{
    numbers read = NONE;
    if (by->read(it->in, &read, &it->error) != SFT_OK) {
        fails(it, by, "it is rejected");
    } else if (!is_right(&read)) {
        fails(it, by, "other numbers");
    }
}

/* A stream that ends too early, or too late, has been received before that is known. */
static int is_known_late(const char *code)
{
    return strcmp(code, "data.short") == 0 || strcmp(code, "data.trailing") == 0;
}

static sft_status status_of(const char *code)
{
    return code[0] == 'u' && code[1] == 's' ? SFT_USAGE : SFT_FILE;
}

static void must_reject(judged *it, const way *by)
{
    char text[256];
    numbers read = NONE;
    sft_status status = by->read(it->in, &read, &it->error);
    sft_error_code(&it->error, text, sizeof text);
    if (status == SFT_OK) {
        fails(it, by, "it is read");
    } else if (status != status_of(it->record->code) || strcmp(text, it->record->code) != 0) {
        fails(it, by, text);
    } else if (it->error.request != it->record->request) {
        fails(it, by, "another request");
    } else if (memcmp(&read, &NONE, sizeof read) != 0 && !is_known_late(it->record->code)) {
        fails(it, by, "it has given numbers");
    }
    sft_error_sentence(&it->error, text, sizeof text);
    if (status != SFT_OK && strstr(text, it->record->text) == NULL) {
        fails(it, by, text);
    }
}

static void judge_wrong(judged *it)
{
    size_t i;
    for (i = 0; i < sizeof WAYS / sizeof WAYS[0]; i++) {
        must_reject(it, &WAYS[i]);
    }
    must_reject(it, &SUM);
    must_reject(it, &EMBEDDED);
}

/* Checks that the right model without a sum, or one that is stored wrongly, is rejected with this code. */
static void must_lack(judged *it, const way *by, const char *expected)
{
    numbers read = NONE;
    char code[SFT_CODE_LEN];
    by->read(it->in, &read, &it->error);
    sft_error_code(&it->error, code, sizeof code);
    if (strcmp(code, expected) != 0 || memcmp(&read, &NONE, sizeof read) != 0) {
        fails(it, by, code);
    }
}

static void judge_right(judged *it)
{
    size_t i;
    for (i = 0; i < sizeof WAYS / sizeof WAYS[0]; i++) {
        must_read(it, &WAYS[i]);
    }
    must_read(it, it->record->kind == PACK_EMBEDDED ? &EMBEDDED : &SUM);
    if (it->record->kind == PACK_RIGHT) {
        must_lack(it, &EMBEDDED, "usage.sum");
        must_lack(it, &UPDATE, "usage.sum");
        return;
    }
    must_read(it, &UPDATE);
    broken_at = it->in->len - 1;
    must_lack(it, &UPDATE, "integrity.sum");
    broken_at = 0;
}

static void judge_damaged(judged *it)
{
    numbers read = NONE;
    if (with_open(it->in, &read, &it->error) != SFT_OK) {
        fails(it, &WAYS[0], "only a sum can tell");
    }
    must_reject(it, it->record->kind == PACK_DAMAGED ? &SUM : &EMBEDDED);
    if (it->record->kind == PACK_DAMAGED_EMBEDDED) {
        must_reject(it, &UPDATE);
    }
}

static void print_rejection(judged *it)
{
    char text[256];
    int32_t request = it->error.request;
    sft_error_sentence(&it->error, text, sizeof text);
    print_text(it->to, "rejected: ");
    print_text(it->to, it->record->name);
    print_text(it->to, ": ");
    print_text(it->to, request >= 0 && request < 3 ? NET[request].name : "the model");
    print_text(it->to, ": ");
    print_text(it->to, text);
    print_text(it->to, "\n");
}

static void print_totals(print_to to, const wrong_models *result)
{
    print_text(to, "wrong models: ");
    print_number(to, result->rejected);
    print_text(to, " rejected, ");
    print_number(to, result->read);
    print_text(to, " read, ");
    print_number(to, result->failed);
    print_text(to, " failed\n");
}

static void judge_record(print_to to, const pack_record *record, const input *in, wrong_models *result)
{
    judged it;
    it.to = to;
    it.record = record;
    it.in = in;
    it.failed = 0;
    if (record->kind == PACK_RIGHT || record->kind == PACK_EMBEDDED) {
        judge_right(&it);
        result->read += it.failed == 0;
    } else {
        if (record->kind == PACK_WRONG) {
            judge_wrong(&it);
        } else {
            judge_damaged(&it);
        }
        if (it.failed == 0) {
            print_rejection(&it);
            result->rejected++;
        }
    }
    result->failed += it.failed != 0;
}

int judge_wrong_models(print_to to, const sft_storage *pack_storage)
{
    wrong_models result = { 0, 0, 0 };
    pack models;
    pack_record record;
    input in;
    uint8_t sum[32] = { 0 };
    int next;
    in.sum = sum;
    if (!pack_begin(&models, pack_storage)) {
        return 1;
    }
    while ((next = pack_next(&models, &record)) > 0) {
        if (record.kind == PACK_VECTOR) {
            continue;
        }
        in.len = (size_t)record.file.len;
        if (in.len > LONGEST || !pack_read(pack_storage, record.file.start, in.file, in.len)) {
            return 1;
        }
        if (record.kind == PACK_RIGHT) {
            memcpy(sum, record.text, sizeof sum);
        }
        judge_record(to, &record, &in, &result);
    }
    print_totals(to, &result);
    return next != 0 || result.failed != 0 || result.rejected == 0 || result.read == 0;
}
