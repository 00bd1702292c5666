/* NVIDIA's management library, as far as it is asked here. What it answers stands in text files beside it, read anew at each call.

   nvidia-devices/N, a file for each device, named by its number on the machine. First line: UUID, memory in MiB, name. Then:
     used MIB | reserved MIB | pci ID | capability MAJOR MINOR | busy PERCENT | power_mw N | energy_mj N | temperature C |
     sm_mhz N | memory_mhz N | sm_max_mhz N | memory_max_mhz N | throttle MASK | ecc N | mig_mode 0/1
     mig UUID MIB USED_MIB NAME               an instance of this device
     process PID MIB PERCENT [INSTANCE]       while that process lives; "-" for what the driver does not tell
     ghost PID MIB PERCENT [INSTANCE]         the same, whether it lives or not
   nvidia-driver: `version TEXT`, `cuda NUMBER`. In both files:
     error FUNCTION CODE | hang FUNCTION      of this device or of all; FUNCTION without its version, or * for each
   What is not in the file is not supported. Without the folder the driver is not loaded; a device whose file is gone is lost. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    SUCCESS, UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, DRIVER_NOT_LOADED = 9,
    GPU_IS_LOST = 15, CARDS = 16, INSTANCES = 8, CARD = -1, DRIVER = -1, NOT_TOLD = -1
};
typedef unsigned long long u64;
struct device { int number, instance; };
struct memory { u64 total, free, used; };
struct memory_v2 { unsigned version; u64 total, reserved, free, used; };
struct rates { unsigned gpu, memory; };
struct pci { char old_id[16]; unsigned domain, bus, device, product, subsystem; char id[32]; };
struct process_v2 { unsigned pid; u64 memory; unsigned instance, compute_instance; };
struct process_use { unsigned pid; u64 time_us; unsigned sm, memory, encoder, decoder; };

static struct device devices[CARDS][1 + INSTANCES];
static unsigned count;
static int loaded;

static int folder(char *path, size_t size)
{
    Dl_info here;
    char whole[4096], *end;
    if (!dladdr((void *)folder, &here) || !realpath(here.dli_fname, whole) || !(end = strrchr(whole, '/')))
        return 0;
    *end = 0;
    return snprintf(path, size, "%s", whole) < (int)size;
}

/* What follows `key` in the nth such line of a device's file, or of the driver's; `key` NULL is the first line. */
static int find(int number, const char *key, int nth, char value[256])
{
    char path[4200], line[512];
    int found = 0, first = 1;
    if (!folder(path, 4096))
        return 0;
    if (number == DRIVER)
        strcat(path, "/nvidia-driver");
    else
        sprintf(path + strlen(path), "/nvidia-devices/%d", number);
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        size_t length = key ? strlen(key) : 0;
        line[strcspn(line, "\n")] = 0;
        if (key ? !strncmp(line, key, length) && line[length] == ' ' && !nth-- : first) {
            snprintf(value, 256, "%.255s", line + (key ? length + 1 : 0));
            found = 1;
        }
        first = 0;
    }
    if (file)
        fclose(file);
    return found;
}

static int is_meant(const char *name, const char *function)
{
    size_t length = strlen(name);
    return !strcmp(name, "*") || (!strncmp(name, function, length) && (!function[length] || !strncmp(function + length, "_v", 2)));
}

/* The code that a call is to end with; a call that is to hang does, until the file no longer says so. */
static int check(const char *function, int number)
{
    char value[256], name[256];
    int code, n;
    for (n = 0; find(number, "hang", n, value); n++)
        while (is_meant(value, function) && find(number, "hang", n, value))
            usleep(20000);
    for (n = 0; find(number, "error", n, value); n++)
        if (sscanf(value, "%s %d", name, &code) == 2 && is_meant(name, function))
            return code;
    return SUCCESS;
}

static int begin(const char *function, const struct device *device)
{
    char value[256];
    int code = check(function, DRIVER);
    if (code || !device)
        return code ? code : loaded ? SUCCESS : UNINITIALIZED;
    code = check(function, device->number);
    return code ? code : !find(device->number, NULL, 0, value) ? GPU_IS_LOST : SUCCESS;
}

static int number_of(const char *function, const struct device *device, const char *key, u64 *found)
{
    char value[256];
    int code = begin(function, device);
    if (code)
        return code;
    if (device->instance != CARD || !find(device->number, key, 0, value))
        return NOT_SUPPORTED;
    *found = strtoull(value, NULL, 0);
    return SUCCESS;
}

static int small_number_of(const char *function, const struct device *device, const char *key, unsigned *found)
{
    u64 number = 0;
    int code = number_of(function, device, key, &number);
    *found = number;
    return code;
}

static int text(const char *from, char *to, unsigned length)
{
    return snprintf(to, length, "%s", from) < (int)length ? SUCCESS : INSUFFICIENT_SIZE;
}

int nvmlInit_v2(void)
{
    char path[4200], value[256];
    int code = check(__func__, DRIVER);
    if (code)
        return code;
    if (!folder(path, 4096) || access(strcat(path, "/nvidia-devices"), F_OK))
        return DRIVER_NOT_LOADED;
    count = 0;
    for (int number = 0; number < CARDS; number++) {
        if (!find(number, NULL, 0, value))
            continue;
        for (int i = 0; i < 1 + INSTANCES; i++)
            devices[count][i] = (struct device){number, i - 1};
        count++;
    }
    loaded = 1;
    return SUCCESS;
}

int nvmlShutdown(void)
{
    return begin(__func__, NULL);
}

const char *nvmlErrorString(int code)
{
    return code == GPU_IS_LOST ? "GPU is lost" : "Unknown Error";
}

int nvmlSystemGetDriverVersion(char *version, unsigned length)
{
    char value[256] = "535.1";
    int code = begin(__func__, NULL);
    find(DRIVER, "version", 0, value);
    return code ? code : text(value, version, length);
}

int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    char value[256] = "12020";
    find(DRIVER, "cuda", 0, value);
    *version = atoi(value);
    return begin(__func__, NULL);
}

int nvmlDeviceGetCount_v2(unsigned *found)
{
    *found = count;
    return begin(__func__, NULL);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device **device)
{
    if (index >= count)
        return INVALID_ARGUMENT;
    *device = &devices[index][0];
    return begin(__func__, *device);
}

/* The line that tells of a device or of an instance: UUID, memory, and name are in both. */
static int described(const char *function, const struct device *device, char uuid[96], u64 *mib, u64 *used_mib, char name[96])
{
    char value[256];
    int code = begin(function, device);
    *used_mib = 0;
    if (code)
        return code;
    if (device->instance != CARD) {
        if (!find(device->number, "mig", device->instance, value))
            return NOT_FOUND;
        return sscanf(value, "%95s %llu %llu %95[^\n]", uuid, mib, used_mib, name) == 4 ? SUCCESS : INVALID_ARGUMENT;
    }
    find(device->number, NULL, 0, value);
    if (sscanf(value, "%95s %llu %95[^\n]", uuid, mib, name) != 3)
        return INVALID_ARGUMENT;
    if (find(device->number, "used", 0, value))
        *used_mib = strtoull(value, NULL, 0);
    return SUCCESS;
}

int nvmlDeviceGetName(struct device *device, char *name, unsigned length)
{
    char uuid[96], found[96] = "";
    u64 mib, used;
    int code = described(__func__, device, uuid, &mib, &used, found);
    return code ? code : text(found, name, length);
}

int nvmlDeviceGetUUID(struct device *device, char *uuid, unsigned length)
{
    char found[96] = "", name[96];
    u64 mib, used;
    int code = described(__func__, device, found, &mib, &used, name);
    return code ? code : text(found, uuid, length);
}

static int memory_of(const char *function, const struct device *device, struct memory_v2 *memory)
{
    char uuid[96], name[96], value[256] = "0";
    u64 mib = 0, used = 0;
    int code = described(function, device, uuid, &mib, &used, name);
    if (device->instance == CARD)
        find(device->number, "reserved", 0, value);
    memory->total = mib << 20;
    memory->reserved = strtoull(value, NULL, 0) << 20;
    memory->used = used << 20;
    memory->free = memory->total - memory->reserved - memory->used;
    return code;
}

/* The old way to ask counts as used what the driver keeps for itself. */
int nvmlDeviceGetMemoryInfo(struct device *device, struct memory *memory)
{
    struct memory_v2 found;
    int code = memory_of(__func__, device, &found);
    *memory = (struct memory){found.total, found.free, found.used + found.reserved};
    return code;
}

int nvmlDeviceGetPciInfo_v3(struct device *device, struct pci *pci)
{
    char value[256];
    int code = begin(__func__, device);
    if (code || device->instance != CARD || !find(device->number, "pci", 0, value))
        return code ? code : NOT_SUPPORTED;
    return text(value, pci->id, sizeof pci->id);
}

int nvmlDeviceGetCudaComputeCapability(struct device *device, int *major, int *minor)
{
    char value[256];
    int code = begin(__func__, device);
    if (code || device->instance != CARD || !find(device->number, "capability", 0, value))
        return code ? code : NOT_SUPPORTED;
    return sscanf(value, "%d %d", major, minor) == 2 ? SUCCESS : INVALID_ARGUMENT;
}

int nvmlDeviceGetUtilizationRates(struct device *device, struct rates *rates)
{
    rates->memory = 0;
    return small_number_of(__func__, device, "busy", &rates->gpu);
}

int nvmlDeviceGetPowerUsage(struct device *device, unsigned *milliwatts)
{
    return small_number_of(__func__, device, "power_mw", milliwatts);
}

int nvmlDeviceGetTotalEnergyConsumption(struct device *device, u64 *millijoules)
{
    return number_of(__func__, device, "energy_mj", millijoules);
}

int nvmlDeviceGetTemperature(struct device *device, int sensor, unsigned *celsius)
{
    return sensor ? INVALID_ARGUMENT : small_number_of(__func__, device, "temperature", celsius);
}

int nvmlDeviceGetClockInfo(struct device *device, int clock, unsigned *mhz)
{
    return small_number_of(__func__, device, clock == 2 ? "memory_mhz" : "sm_mhz", mhz);
}

int nvmlDeviceGetMaxClockInfo(struct device *device, int clock, unsigned *mhz)
{
    return small_number_of(__func__, device, clock == 2 ? "memory_max_mhz" : "sm_max_mhz", mhz);
}

int nvmlDeviceGetTotalEccErrors(struct device *device, int kind, int counter, u64 *errors)
{
    return kind == 1 && counter == 0 ? number_of(__func__, device, "ecc", errors) : INVALID_ARGUMENT;
}

int nvmlDeviceGetMigMode(struct device *device, unsigned *now, unsigned *later)
{
    int code = small_number_of(__func__, device, "mig_mode", now);
    *later = *now;
    return code;
}

int nvmlDeviceGetMaxMigDeviceCount(struct device *device, unsigned *most)
{
    *most = INSTANCES;
    return begin(__func__, device);
}

int nvmlDeviceGetMigDeviceHandleByIndex(struct device *device, unsigned index, struct device **found)
{
    char value[256];
    int code = begin(__func__, device);
    if (code || index >= INSTANCES || !find(device->number, "mig", index, value))
        return code ? code : NOT_FOUND;
    *found = device + 1 + index;
    return SUCCESS;
}

struct process { unsigned pid; u64 memory; int percent, instance; };

/* The nth process on a device, of those that live. */
static int process(const struct device *device, unsigned nth, struct process *found)
{
    char value[256], memory[32], percent[32];
    for (int kind = 0; kind < 2; kind++)
        for (int n = 0; find(device->number, kind ? "ghost" : "process", n, value); n++) {
            found->instance = 0;
            if (sscanf(value, "%u %31s %31s %d", &found->pid, memory, percent, &found->instance) < 3)
                continue;
            found->memory = *memory == '-' ? ~0ULL : strtoull(memory, NULL, 0) << 20;
            found->percent = *percent == '-' ? NOT_TOLD : atoi(percent);
            if (device->instance != CARD && device->instance != found->instance)
                continue;
            if ((kind || !kill(found->pid, 0) || errno != ESRCH) && !nth--)
                return 1;
        }
    return 0;
}

static int processes(const char *function, const struct device *device, unsigned *room, struct process_v2 *found)
{
    struct process one;
    unsigned n = 0, most = found ? *room : 0;
    int code = begin(function, device);
    if (code)
        return code;
    for (; process(device, n, &one); n++)
        if (n < most)
            found[n] = (struct process_v2){one.pid, one.memory, one.instance, 0};
    *room = n;
    return n > most ? INSUFFICIENT_SIZE : SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v2(struct device *device, unsigned *room, struct process_v2 *found)
{
    return processes(__func__, device, room, found);
}

int nvmlDeviceGetProcessUtilization(struct device *device, struct process_use *found, unsigned *room, u64 since_us)
{
    struct process one;
    struct timespec now;
    unsigned n = 0, told = 0, most = found ? *room : 0;
    int code = begin(__func__, device);
    if (code || device->instance != CARD)
        return code ? code : NOT_SUPPORTED;
    clock_gettime(CLOCK_REALTIME, &now);
    u64 now_us = now.tv_sec * 1000000ULL + now.tv_nsec / 1000;
    for (; now_us > since_us && process(device, n, &one); n++)
        if (one.percent != NOT_TOLD && told++ < most)
            found[told - 1] = (struct process_use){one.pid, now_us, one.percent, 0, 0, 0};
    *room = told;
    return !told ? NOT_FOUND : told > most ? INSUFFICIENT_SIZE : SUCCESS;
}

/* What drivers of some years ago do not have. */
#ifndef OLD
int nvmlDeviceGetMemoryInfo_v2(struct device *device, struct memory_v2 *memory)
{
    if (memory->version != (sizeof *memory | 2u << 24))
        return 25;
    return memory_of(__func__, device, memory);
}

int nvmlDeviceGetComputeRunningProcesses_v3(struct device *device, unsigned *room, struct process_v2 *found)
{
    return processes(__func__, device, room, found);
}

int nvmlDeviceGetCurrentClocksEventReasons(struct device *device, u64 *mask)
{
    return number_of(__func__, device, "throttle", mask);
}
#endif

int nvmlDeviceGetCurrentClocksThrottleReasons(struct device *device, u64 *mask)
{
    return number_of(__func__, device, "throttle", mask);
}
