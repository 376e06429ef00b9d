/* The model, in the program's flash. */
    .section .rodata.model, "a"
    .global model_begin, model_end
    .balign 16
model_begin:
    .incbin "model.safetensors"
model_end:
