// SPDX-License-Identifier: Apache-2.0
// Runs inside a guest, without a C library (its bytes travel over the guest's console): times
// accesses to the card through BAR0 as a driver would make them.
//   guest_probe BDF   prints "mmio_read NS", "mmio_write NS", "command NS": medians.
// The card must be bound to no driver, its memory space and bus mastering on.
#include <stddef.h>
#include <stdint.h>

enum { kRead = 0, kWrite = 1, kOpen = 2, kMmap = 9, kPread = 17, kClock = 228, kExit = 60 };
enum { kRounds = 301, kDoorbell = 0x18, kTimer = 0x1004, kSpareUar = 0x10000 };

static long call(long number, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static void print(const char* text) {
    long size = 0;
    while (text[size] != 0) ++size;
    call(kWrite, 1, (long)text, size, 0, 0, 0);
}

static void print_number(const char* name, uint64_t value) {
    char digits[24];
    int at = sizeof digits;
    digits[--at] = 0;
    digits[--at] = '\n';
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    print(name);
    print(" ");
    print(digits + at);
}

static void fail(const char* why) {
    print("guest_probe: ");
    print(why);
    print("\n");
    call(kExit, 1, 0, 0, 0, 0, 0);
}

static uint64_t now(void) {
    int64_t time[2] = {0, 0};
    call(kClock, 1 /* CLOCK_MONOTONIC */, (long)time, 0, 0, 0, 0);
    return (uint64_t)time[0] * 1000000000u + (uint64_t)time[1];
}

static uint64_t median(uint64_t* values, int count) {
    for (int i = 1; i < count; ++i) {
        const uint64_t value = values[i];
        int j = i;
        for (; j > 0 && values[j - 1] > value; --j) values[j] = values[j - 1];
        values[j] = value;
    }
    return values[count / 2];
}

static uint32_t swap(uint32_t value) { return __builtin_bswap32(value); }

// Entry and mailbox lie in a page each, so that one address is enough for each.
static _Alignas(4096) volatile uint8_t g_entry[4096];
static _Alignas(4096) volatile uint8_t g_mailbox[4096];

static uint64_t physical(const volatile void* address) {
    const long file = call(kOpen, (long)"/proc/self/pagemap", 0, 0, 0, 0, 0);
    uint64_t word = 0;
    if (file < 0 || call(kPread, file, (long)&word, 8, (long)((uintptr_t)address / 4096 * 8), 0,
                         0) != 8) {
        fail("cannot read /proc/self/pagemap");
    }
    if ((word & ((1ull << 55) - 1)) == 0) fail("no physical address: run as root");
    return (word & ((1ull << 55) - 1)) * 4096;
}

static void store32(volatile uint8_t* at, uint32_t value) {
    *(volatile uint32_t*)at = swap(value);
}

// QUERY_ISSI, polled for as the driver does before it has event queues.
static uint64_t command(volatile uint32_t* bar, uint64_t mailbox) {
    for (int i = 0; i < 64; ++i) g_entry[i] = 0;
    for (int i = 0; i < 576; ++i) g_mailbox[i] = 0;
    g_entry[0] = 7;
    store32(g_entry + 4, 16);
    store32(g_entry + 16, 0x10a0000);
    store32(g_entry + 48, (uint32_t)(mailbox >> 32));
    store32(g_entry + 52, (uint32_t)mailbox);
    store32(g_entry + 56, 112);
    g_entry[60] = 0x5a;
    g_mailbox[573] = 0x5a;
    __sync_synchronize();
    g_entry[63] = 1;
    __sync_synchronize();
    const uint64_t start = now();
    bar[kDoorbell / 4] = swap(1);
    while ((g_entry[63] & 1) != 0) {
        if (now() - start > 1000000000u) fail("the command does not end");
    }
    const uint64_t took = now() - start;
    if (g_entry[63] != 0) fail("the command has a delivery error");
    return took;
}

static void probe(const char* bdf) {
    char path[64] = "/sys/bus/pci/devices/";
    int at = 21;
    for (int i = 0; bdf[i] != 0 && at < 48; ++i) path[at++] = bdf[i];
    const char* tail = "/resource0";
    for (int i = 0; tail[i] != 0; ++i) path[at++] = tail[i];
    path[at] = 0;
    const long file = call(kOpen, (long)path, 2, 0, 0, 0, 0);
    if (file < 0) fail("cannot open resource0");
    const long place = call(kMmap, 0, 0x20000, 3, 1, file, 0);
    if (place < 0 && place > -4096) fail("cannot map resource0");
    volatile uint32_t* bar = (volatile uint32_t*)place;

    static uint64_t times[kRounds];
    for (int i = 0; i < kRounds; ++i) {
        const uint64_t start = now();
        (void)bar[kTimer / 4];
        times[i] = now() - start;
    }
    print_number("mmio_read", median(times, kRounds));
    for (int i = 0; i < kRounds; ++i) {
        const uint64_t start = now();
        bar[kSpareUar / 4] = 0;
        times[i] = now() - start;
    }
    print_number("mmio_write", median(times, kRounds));

    g_entry[0] = g_mailbox[0] = 1;  // touched: they have pages now
    const uint64_t entry = physical(g_entry);
    const uint64_t mailbox = physical(g_mailbox);
    bar[0x10 / 4] = swap((uint32_t)(entry >> 32));
    bar[0x14 / 4] = swap((uint32_t)entry);
    for (int i = 0; i < kRounds; ++i) times[i] = command(bar, mailbox);
    print_number("command", median(times, kRounds));
}

__attribute__((used)) static void begin(const long* stack) {
    if (stack[0] != 2) fail("usage: guest_probe BDF");
    probe((const char*)stack[2]);
    call(kExit, 0, 0, 0, 0, 0, 0);
}

__asm__(".globl _start\n_start:\n  mov %rsp, %rdi\n  and $-16, %rsp\n  call begin\n");
