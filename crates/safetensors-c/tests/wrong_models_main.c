/* Judges the wrong models of a pack on a computer: `wrong_models PACK`. */
#include "host.h"
#include "wrong_models.h"

int main(int argc, char **argv)
{
    wrong_models result;
    const sft_storage storage = host_storage(argc == 2 ? argv[1] : NULL);
    return judge_wrong_models(host_print(), &storage, &result);
}
