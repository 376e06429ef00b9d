#include "pack.h"

#include <string.h>

int pack_read(const sft_storage *storage, uint64_t at, void *bytes, size_t len)
{
    uint8_t *to = (uint8_t *)bytes;
    if (storage->len_is == SFT_LEN_MEMORY) {
        if (at > storage->len || len > storage->len - at) {
            return 0;
        }
        memcpy(to, (const uint8_t *)storage->context + at, len);
        return 1;
    }
    while (len > 0) {
        int32_t got = storage->read(storage->context, at, to, len);
        if (got <= 0) {
            return 0;
        }
        to += got;
        at += (uint64_t)got;
        len -= (size_t)got;
    }
    return 1;
}

int pack_begin(pack *from, const sft_storage *storage)
{
    char magic[8];
    from->storage = storage;
    from->at = sizeof magic;
    return pack_read(storage, 0, magic, sizeof magic) && memcmp(magic, "SFTPACK1", sizeof magic) == 0;
}

/* Reads bytes that must leave space for a final 0. */
static int next_text(pack *from, char *text, size_t len, size_t space)
{
    if (len >= space || !pack_read(from->storage, from->at, text, len)) {
        return 0;
    }
    text[len] = 0;
    from->at += len;
    return 1;
}

int pack_next(pack *from, pack_record *record)
{
    uint8_t head[12];
    size_t i;
    if (!pack_read(from->storage, from->at, head, sizeof head)) {
        return -1;
    }
    from->at += sizeof head;
    record->kind = (char)head[0];
    if (record->kind == 0) {
        return 0;
    }
    record->request = head[1] == 255 ? -1 : head[1];
    record->text_len = head[6] + 256u * head[7];
    if (!next_text(from, record->name, head[2] + 256u * head[3], sizeof record->name)
        || !next_text(from, record->code, head[4] + 256u * head[5], sizeof record->code)
        || !next_text(from, record->text, record->text_len, sizeof record->text)) {
        return -1;
    }
    record->file.storage = from->storage;
    record->file.start = from->at;
    record->file.len = 0;
    for (i = 4; i-- > 0;) {
        record->file.len = record->file.len * 256 + head[8 + i];
    }
    from->at += record->file.len;
    return 1;
}

static int32_t read_part(void *context, uint64_t offset, void *buffer, size_t len)
{
    const pack_part *part = (const pack_part *)context;
    if (offset >= part->len) {
        return 0;
    }
    if (len > part->len - offset) {
        len = (size_t)(part->len - offset);
    }
    return pack_read(part->storage, part->start + offset, buffer, len) ? (int32_t)len : -1;
}

sft_storage pack_file(pack_record *record)
{
    return sft_callbacks(read_part, &record->file, record->file.len, SFT_LEN_EXACT);
}
