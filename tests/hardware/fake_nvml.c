/* A driver's library with two GPUs: what it says follows from the device's number. Device 1 does not tell its power. */
#include <string.h>
typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned int gpu, memory; } utilization_t;
static int handles[2] = {0, 1};
static unsigned long long energy = 1000000;
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned int *count) { *count = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device) { *device = &handles[index]; return 0; }
int nvmlDeviceGetUUID(void *device, char *uuid, unsigned int length) {
  strncpy(uuid, *(int *)device ? "GPU-bbbb-1" : "GPU-aaaa-0", length);
  return 0;
}
int nvmlDeviceGetPowerUsage(void *device, unsigned int *mw) { *mw = 71500; return *(int *)device ? 3 : 0; }
int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned int *mw) { *mw = 72000; return 0; }
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj) { *mj = energy += 500; return 0; }
int nvmlDeviceGetMaxClockInfo(void *device, int type, unsigned int *mhz) { *mhz = type == 1 ? 2040 : 6251; return 0; }
int nvmlDeviceGetClockInfo(void *device, int type, unsigned int *mhz) { *mhz = type == 1 ? 1530 : 6251; return 0; }
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned int *c) { *c = 60 + *(int *)device; return sensor; }
int nvmlDeviceGetMemoryInfo(void *device, memory_t *memory) {
  memory->total = 24ull << 30; memory->free = 4ull << 30; memory->used = 20ull << 30;
  return 0;
}
int nvmlDeviceGetUtilizationRates(void *device, utilization_t *busy) { busy->gpu = 97; busy->memory = 80; return 0; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *bits) { *bits = 4; return 0; }
