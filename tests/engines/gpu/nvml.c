/* NVIDIA's management library, as far as it is asked here. The folder `nvidia-devices` beside it has a file for each device, named
   by its number on the machine: UUID, memory in MiB, name. Without the folder the driver is not loaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, DRIVER_NOT_LOADED = 9, MOST = 16 };
struct device { char uuid[96], name[96]; unsigned long long memory_mib; };
struct memory { unsigned long long total, free, used; };

static struct device devices[MOST];
static unsigned count;
static int loaded;

int nvmlInit_v2(void)
{
    Dl_info here;
    char folder[4096], path[4200], *end;
    if (!dladdr((void *)nvmlInit_v2, &here) || !(end = strrchr(here.dli_fname, '/')))
        return DRIVER_NOT_LOADED;
    snprintf(folder, sizeof folder, "%.*s/nvidia-devices", (int)(end - here.dli_fname), here.dli_fname);
    if (access(folder, F_OK))
        return DRIVER_NOT_LOADED;
    count = 0;
    for (int number = 0; number < MOST; number++) {
        struct device *d = &devices[count];
        snprintf(path, sizeof path, "%s/%d", folder, number);
        FILE *file = fopen(path, "r");
        if (!file)
            continue;
        count += fscanf(file, "%95s %llu %95[^\n]", d->uuid, &d->memory_mib, d->name) == 3;
        fclose(file);
    }
    loaded = 1;
    return SUCCESS;
}

int nvmlShutdown(void)
{
    return loaded ? SUCCESS : UNINITIALIZED;
}

int nvmlSystemGetDriverVersion(char *version, unsigned length)
{
    return snprintf(version, length, "535.1") < (int)length ? SUCCESS : INVALID_ARGUMENT;
}

int nvmlDeviceGetCount_v2(unsigned *found)
{
    *found = count;
    return loaded ? SUCCESS : UNINITIALIZED;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device **device)
{
    *device = &devices[index];
    return index < count ? SUCCESS : INVALID_ARGUMENT;
}

int nvmlDeviceGetName(struct device *device, char *name, unsigned length)
{
    return snprintf(name, length, "%s", device->name) < (int)length ? SUCCESS : INVALID_ARGUMENT;
}

int nvmlDeviceGetUUID(struct device *device, char *uuid, unsigned length)
{
    return snprintf(uuid, length, "%s", device->uuid) < (int)length ? SUCCESS : INVALID_ARGUMENT;
}

int nvmlDeviceGetMemoryInfo(struct device *device, struct memory *memory)
{
    memory->total = memory->free = device->memory_mib << 20;
    memory->used = 0;
    return SUCCESS;
}
