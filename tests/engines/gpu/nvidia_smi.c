/* `nvidia-smi`, as far as it is asked here: -L, or --query-gpu=FIELDS --format=csv,noheader[,nounits]. */
#include <stdio.h>
#include <string.h>

struct memory { unsigned long long total, free, used; };
int nvmlInit_v2(void);
int nvmlSystemGetDriverVersion(char *, unsigned);
int nvmlDeviceGetCount_v2(unsigned *);
int nvmlDeviceGetHandleByIndex_v2(unsigned, void **);
int nvmlDeviceGetName(void *, char *, unsigned);
int nvmlDeviceGetUUID(void *, char *, unsigned);
int nvmlDeviceGetMemoryInfo(void *, struct memory *);

static int print_field(const char *field, unsigned index, void *device, const char *unit)
{
    char text[96] = "";
    struct memory memory;
    nvmlDeviceGetMemoryInfo(device, &memory);
    if (!strcmp(field, "index"))
        return printf("%u", index);
    if (!strcmp(field, "memory.total"))
        return printf("%llu%s", memory.total >> 20, unit);
    if (!strcmp(field, "memory.used"))
        return printf("%llu%s", memory.used >> 20, unit);
    if (!strcmp(field, "name"))
        nvmlDeviceGetName(device, text, sizeof text);
    else if (!strcmp(field, "uuid"))
        nvmlDeviceGetUUID(device, text, sizeof text);
    else if (!strcmp(field, "driver_version"))
        nvmlSystemGetDriverVersion(text, sizeof text);
    else
        return -1;
    return printf("%s", text);
}

int main(int argc, char **argv)
{
    const char *fields = "", *unit = " MiB";
    unsigned count, index;
    if (nvmlInit_v2()) {
        puts("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA "
             "driver is installed and running.\n");
        return 9;
    }
    for (int i = 1; i < argc; i++) {
        if (!strncmp(argv[i], "--query-gpu=", 12))
            fields = argv[i] + 12;
        if (!strncmp(argv[i], "--format=", 9) && strstr(argv[i], "nounits"))
            unit = "";
    }
    nvmlDeviceGetCount_v2(&count);
    if (!count)
        puts("No devices were found");
    for (index = 0; index < count; index++) {
        char name[96], uuid[96], words[512];
        void *device;
        nvmlDeviceGetHandleByIndex_v2(index, &device);
        if (!*fields) {
            nvmlDeviceGetName(device, name, sizeof name);
            nvmlDeviceGetUUID(device, uuid, sizeof uuid);
            printf("GPU %u: %s (UUID: %s)\n", index, name, uuid);
            continue;
        }
        snprintf(words, sizeof words, "%s", fields);
        for (char *field = strtok(words, ","); field; field = strtok(NULL, ",")) {
            if (field != words)
                printf(", ");
            if (print_field(field, index, device, unit) < 0) {
                printf("Field \"%s\" is not a valid field to query.\n", field);
                return 2;
            }
        }
        puts("");
    }
    return 0;
}
