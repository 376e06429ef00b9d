#include "judge.h"

static const char *const DTYPES[] = {
    "BOOL", "F4", "F6_E2M3", "F6_E3M2", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ",
    "I16", "U16", "F16", "BF16", "I32", "U32", "F32", "C64", "F64", "I64", "U64",
};

static void print_dtype(print_to to, uint32_t dtype)
{
    size_t bit;
    for (bit = 0; bit < sizeof DTYPES / sizeof DTYPES[0]; bit++) {
        if (dtype == UINT32_C(1) << bit) {
            print_text(to, DTYPES[bit]);
            return;
        }
    }
    print_text(to, "?");
}

static void print_verdict(print_to to, const char *of, sft_status status, const sft_error *error)
{
    char code[SFT_CODE_LEN];
    print_text(to, " ");
    print_text(to, of);
    if (status == SFT_OK) {
        print_text(to, " ok\n");
        return;
    }
    sft_error_code(error, code, sizeof code);
    print_text(to, " error ");
    print_number(to, (uint64_t)status);
    print_text(to, " ");
    print_text(to, code);
    print_text(to, " ");
    print_number(to, error->at);
    print_text(to, "\n");
}

#define SUM_OF_NOTHING UINT32_C(2166136261)

static uint32_t sum_with(uint32_t sum, const uint8_t *bytes, size_t len)
{
    size_t i;
    for (i = 0; i < len; i++) {
        sum = (sum ^ bytes[i]) * UINT32_C(16777619);
    }
    return sum;
}

/* The tensors of a file. */
typedef struct listing {
    print_to to;
    const judge_memory *memory;
    /* How many of them are in the memory. */
    size_t kept;
    /* The name of the first, if a request can have it. */
    char first[64];
    int has_first;
} listing;

static void keep_name(listing *list, const char *name, size_t len)
{
    size_t i;
    list->has_first = len < sizeof list->first;
    for (i = 0; i < len && list->has_first; i++) {
        list->first[i] = name[i];
        list->has_first = name[i] != 0;
    }
    if (list->has_first) {
        list->first[len] = 0;
    }
}

static void visit(void *context, const char *name, size_t name_len, const sft_tensor *tensor)
{
    listing *list = (listing *)context;
    print_to to = list->to;
    const uint64_t numbers[3] = { tensor->offset, tensor->bytes, tensor->elements };
    uint32_t i;
    print_text(to, " tensor ");
    print_hex(to, name, name_len);
    print_text(to, " ");
    print_dtype(to, tensor->dtype);
    print_text(to, " ");
    print_number(to, tensor->rank);
    for (i = 0; i < tensor->rank && i < SFT_MAX_RANK; i++) {
        print_text(to, " ");
        print_number(to, tensor->shape[i]);
    }
    for (i = 0; i < 3; i++) {
        print_text(to, " ");
        print_number(to, numbers[i]);
    }
    print_text(to, "\n");
    if (list->kept == 0) {
        keep_name(list, name, name_len);
    }
    if (list->kept < list->memory->tensor_count) {
        list->memory->tensors[list->kept++] = *tensor;
    }
}

/* Prints the sum of the bytes of a tensor, read in pieces of the window. */
static void read_tensor(print_to to, sft_model *model, size_t number, const judge_memory *memory)
{
    const sft_tensor *tensor = &memory->tensors[number];
    uint32_t sum = SUM_OF_NOTHING;
    uint64_t at = 0;
    sft_error error;
    while (at < tensor->bytes) {
        uint64_t left = tensor->bytes - at;
        size_t len = left < memory->window_len ? (size_t)left : memory->window_len;
        sft_status status = sft_read_bytes(model, tensor, at, memory->window, len, &error);
        if (status != SFT_OK) {
            print_verdict(to, "bytes", status, &error);
            return;
        }
        sum = sum_with(sum, memory->window, len);
        at += len;
    }
    print_text(to, " bytes ");
    print_number(to, number);
    print_text(to, " ");
    print_number(to, sum);
    print_text(to, "\n");
}

static void ask_values(print_to to, sft_model *model, const pack_record *record, const judge_memory *memory)
{
    size_t at = 0;
    while (at < record->text_len) {
        const char *key = record->text + at;
        char code[SFT_CODE_LEN] = "";
        sft_error error;
        int found;
        sft_status status = sft_metadata(model, key, memory->text, memory->text_len, &found, memory->window,
                                         memory->window_len, &error);
        at += strlen(key) + 1;
        if (status != SFT_OK) {
            sft_error_code(&error, code, sizeof code);
        }
        if (status != SFT_OK && (status != SFT_USAGE || strcmp(code, "c.nul") != 0)) {
            print_verdict(to, "value", status, &error);
            continue;
        }
        print_text(to, " value ");
        print_hex(to, key, strlen(key));
        print_text(to, " ");
        if (status != SFT_OK) {
            print_text(to, "!");
        } else if (found) {
            print_hex(to, memory->text, strlen(memory->text));
        } else {
            print_text(to, "?");
        }
        print_text(to, "\n");
    }
}

/* A request of a tensor exactly as it was listed. */
static sft_request request_of(const char *name, const sft_tensor *tensor)
{
    sft_request request;
    size_t i;
    request.name = name;
    request.dtypes = tensor->dtype;
    request.rank = (uint8_t)tensor->rank;
    request.optional = 0;
    for (i = 0; i < SFT_MAX_RANK; i++) {
        request.shape[i] = tensor->shape[i];
    }
    return request;
}

static void find_first(const listing *list, sft_model *model)
{
    const judge_memory *memory = list->memory;
    const sft_request request = request_of(list->first, &memory->tensors[0]);
    sft_tensor found;
    sft_error error;
    sft_status status =
        sft_find(model, &request, &found, 1, memory->window, memory->window_len, &error);
    if (status == SFT_OK && (found.offset != memory->tensors[0].offset || found.bytes != memory->tensors[0].bytes)) {
        print_text(list->to, " find another\n");
        return;
    }
    print_verdict(list->to, "find", status, &error);
}

/* Lists and reads a model that is open. */
static void look_at(listing *list, sft_model *model, const pack_record *record)
{
    const judge_memory *memory = list->memory;
    sft_error error;
    size_t number;
    sft_status status = sft_validate_names(model, NULL, memory->slots, memory->slot_count, memory->text,
                                           memory->text_len, memory->window, memory->window_len, &error);
    print_verdict(list->to, "names", status, &error);
    if (status != SFT_OK) {
        return;
    }
    status = sft_for_each(model, visit, list, memory->text, memory->text_len, memory->window, memory->window_len,
                          &error);
    print_verdict(list->to, "listed", status, &error);
    for (number = 0; number < list->kept; number++) {
        read_tensor(list->to, model, number, memory);
    }
    ask_values(list->to, model, record, memory);
    if (list->has_first) {
        find_first(list, model);
    }
}

/* Gives the file to a receiver in pieces of 1 byte up to the window. */
static sft_status push_all(sft_receiver *receiver, const sft_storage *file, const judge_memory *memory,
                           sft_error *error)
{
    uint64_t at = 0;
    size_t turn = 0;
    while (at < file->len) {
        size_t len = 1 + turn++ * 37 % memory->window_len;
        sft_status status;
        if (len > file->len - at) {
            len = (size_t)(file->len - at);
        }
        if (!pack_read(file, at, memory->window, len)) {
            break;
        }
        status = sft_receiver_push(receiver, memory->window, len, error);
        if (status != SFT_OK) {
            return status;
        }
        at += len;
    }
    return sft_receiver_end(receiver, error);
}

/* Receives the file, and its first tensor if that fits into the text. */
static void receive(const listing *list, const sft_storage *file)
{
    const judge_memory *memory = list->memory;
    sft_receiver receiver;
    sft_target target;
    sft_request request;
    sft_error error;
    sft_status status = sft_receiver_begin(&receiver, &target, 1, &error);
    int has_target = list->has_first && memory->tensors[0].bytes <= memory->text_len;
    if (status == SFT_OK && has_target) {
        request = request_of(list->first, &memory->tensors[0]);
        status = sft_receiver_add_bytes(&receiver, &request, memory->text, (size_t)memory->tensors[0].bytes, &error);
    }
    if (status == SFT_OK) {
        status = push_all(&receiver, file, memory, &error);
    }
    print_verdict(list->to, "pushed", status, &error);
    if (status == SFT_OK && has_target) {
        print_text(list->to, " target ");
        print_number(list->to,
                     sum_with(SUM_OF_NOTHING, (const uint8_t *)memory->text, (size_t)memory->tensors[0].bytes));
        print_text(list->to, "\n");
    }
}

static void judge_vector(print_to to, pack_record *record, const judge_memory *memory)
{
    const sft_storage file = pack_file(record);
    sft_model model;
    sft_error error;
    sft_status status;
    listing list;
    list.to = to;
    list.memory = memory;
    list.kept = 0;
    list.has_first = 0;
    print_text(to, "vector ");
    print_text(to, record->name);
    print_text(to, "\n");
    status = sft_open(&model, &file, NULL, NULL, 0, memory->window, memory->window_len, &error);
    print_verdict(to, "open", status, &error);
    status = sft_open_unordered(&model, &file, memory->slots, memory->slot_count, memory->window,
                                memory->window_len, &error);
    print_verdict(to, "slots", status, &error);
    if (status == SFT_OK) {
        look_at(&list, &model, record);
    }
    receive(&list, &file);
}

/* The same on computers and on boards, so that verdicts have the same reasons. */
static uint8_t window[256];
static char text[512];
static sft_slot slots[16];
static sft_tensor tensors[8];

int judge_pack(print_to to, const sft_storage *pack_storage, const judge_memory *large)
{
    const judge_memory small = { window, sizeof window, text, sizeof text, slots, 16, tensors, 8 };
    static pack_record record;
    pack vectors;
    int next = -1;
    if (judge_wrong_models(to, pack_storage) != 0) {
        return 1;
    }
    if (pack_begin(&vectors, pack_storage)) {
        while ((next = pack_next(&vectors, &record)) > 0) {
            if (record.kind == PACK_VECTOR) {
                judge_vector(to, &record, large != NULL && record.file.len >> 16 > 0 ? large : &small);
            }
        }
    }
    return next == 0 ? 0 : 2;
}
