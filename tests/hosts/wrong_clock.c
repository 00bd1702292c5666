/* A computer whose clock is OFFSET_S seconds off: preloaded into every program. Time of day and the times of files are
   moved together, as on a real one; the monotonic clock is left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <semaphore.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int clock_gettime(clockid_t clock, struct timespec *now) {
    int code = REAL(clock_gettime)(clock, now);
    if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI)) now->tv_sec += OFFSET_S;
    return code;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec fine;
    int code = clock_gettime(CLOCK_REALTIME, &fine);
    if (code == 0) *now = (struct timeval){fine.tv_sec, fine.tv_nsec / 1000};
    return code;
}

time_t time(time_t *place) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (place) *place = now.tv_sec;
    return now.tv_sec;
}

int timespec_get(struct timespec *now, int base) { return clock_gettime(CLOCK_REALTIME, now) == 0 ? base : 0; }

/* Waits for a moment given by the wrong clock. */
int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until) {
    struct timespec right = {until->tv_sec - OFFSET_S, until->tv_nsec};
    return REAL(sem_timedwait)(semaphore, &right);
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted, struct timespec *left) {
    struct timespec right = *wanted;
    if (clock == CLOCK_REALTIME && flags & TIMER_ABSTIME) right.tv_sec -= OFFSET_S;
    return REAL(clock_nanosleep)(clock, flags, &right, left);
}

/* Times of files, read ... */
#define READS(name, parameters, arguments)                                                            \
    int name parameters {                                                                             \
        int code = REAL(name) arguments;                                                              \
        if (code == 0) found->st_atime += OFFSET_S, found->st_mtime += OFFSET_S, found->st_ctime += OFFSET_S; \
        return code;                                                                                  \
    }
READS(stat, (const char *restrict path, struct stat *restrict found), (path, found))
READS(lstat, (const char *restrict path, struct stat *restrict found), (path, found))
READS(fstat, (int file, struct stat *found), (file, found))
READS(fstatat, (int folder, const char *restrict path, struct stat *restrict found, int flags), (folder, path, found, flags))
READS(stat64, (const char *restrict path, struct stat64 *restrict found), (path, found))
READS(lstat64, (const char *restrict path, struct stat64 *restrict found), (path, found))
READS(fstat64, (int file, struct stat64 *found), (file, found))
READS(fstatat64, (int folder, const char *restrict path, struct stat64 *restrict found, int flags), (folder, path, found, flags))

int statx(int folder, const char *restrict path, int flags, unsigned mask, struct statx *restrict found) {
    int code = REAL(statx)(folder, path, flags, mask, found);
    if (code == 0) {
        found->stx_atime.tv_sec += OFFSET_S;
        found->stx_mtime.tv_sec += OFFSET_S;
        found->stx_ctime.tv_sec += OFFSET_S;
        found->stx_btime.tv_sec += OFFSET_S;
    }
    return code;
}

/* ... and set. */
static const struct timespec *righted(const struct timespec given[2], struct timespec right[2]) {
    for (int i = 0; given && i < 2; i++) {
        right[i] = given[i];
        if (given[i].tv_nsec != UTIME_NOW && given[i].tv_nsec != UTIME_OMIT) right[i].tv_sec -= OFFSET_S;
    }
    return given ? right : 0;
}

int utimensat(int folder, const char *path, const struct timespec given[2], int flags) {
    struct timespec right[2];
    return REAL(utimensat)(folder, path, righted(given, right), flags);
}

int futimens(int file, const struct timespec given[2]) {
    struct timespec right[2];
    return REAL(futimens)(file, righted(given, right));
}
