// SPDX-License-Identifier: Apache-2.0
// Runs inside a guest, without a C library: loads one XDP program, made of the instructions below,
// and pins it for `ip link set dev NAME xdpdrv pinned PATH`.
//   xdp_loader PROGRAM PATH [IFINDEX]
//   pass, drop   every packet
//   answer       turns ICMP echo requests into answers and sends them back (XDP_TX), passes others
//   redirect     the same by bpf_redirect to IFINDEX
#include <stddef.h>
#include <stdint.h>

enum { kWrite = 1, kExit = 60, kBpf = 321 };
enum { kProgramLoad = 5, kObjectPin = 6, kTypeXdp = 6 };
enum { kDrop = 1, kPass = 2, kSendBack = 3 };
enum { kRedirect = 23 };  // helper bpf_redirect(ifindex, flags)

struct Instruction {
    uint8_t code;
    uint8_t registers;  // destination in the low half
    int16_t offset;
    int32_t immediate;
};

// Sizes as the instruction codes have them.
enum { kWord = 0x00, kHalf = 0x08, kByte = 0x10 };
#define LOAD(size, to, from, at) {0x61 | (size), (to) | (from) << 4, (at), 0}
#define STORE(size, to, at, from) {0x63 | (size), (to) | (from) << 4, (at), 0}
#define MOVE(to, from) {0xbf, (to) | (from) << 4, 0, 0}
#define SET(to, value) {0xb7, (to), 0, (value)}
#define ADD(to, value) {0x07, (to), 0, (value)}
#define SHIFT_RIGHT(to, value) {0x77, (to), 0, (value)}
#define ADD_REGISTER(to, from) {0x0f, (to) | (from) << 4, 0, 0}
#define IF_GREATER(left, right, skip) {0x2d, (left) | (right) << 4, (skip), 0}
#define IF_NOT(left, value, skip) {0x55, (left), (skip), (value)}
#define CALL(helper) {0x85, 0, 0, (helper)}
#define RETURN {0x95, 0, 0, 0}

static struct Instruction constant_program[] = {SET(0, kPass), RETURN};

// r2 packet, r3 its end. Ethernet 0-13, IPv4 14-33 (without options), ICMP 34-.
static struct Instruction answer_program[] = {
    LOAD(kWord, 2, 1, 0),
    LOAD(kWord, 3, 1, 4),
    MOVE(4, 2),
    ADD(4, 42),
    IF_GREATER(4, 3, 32),  // shorter: pass
    LOAD(kHalf, 5, 2, 12),
    IF_NOT(5, 0x0008, 30),  // IPv4
    LOAD(kByte, 5, 2, 14),
    IF_NOT(5, 0x45, 28),
    LOAD(kByte, 5, 2, 23),
    IF_NOT(5, 1, 26),  // ICMP
    LOAD(kByte, 5, 2, 34),
    IF_NOT(5, 8, 24),  // echo request
    LOAD(kWord, 5, 2, 0),  // addresses of the stations change places
    LOAD(kHalf, 6, 2, 4),
    LOAD(kWord, 7, 2, 6),
    LOAD(kHalf, 8, 2, 10),
    STORE(kWord, 2, 0, 7),
    STORE(kHalf, 2, 4, 8),
    STORE(kWord, 2, 6, 5),
    STORE(kHalf, 2, 10, 6),
    LOAD(kWord, 5, 2, 26),  // and those of IP
    LOAD(kWord, 6, 2, 30),
    STORE(kWord, 2, 26, 6),
    STORE(kWord, 2, 30, 5),
    SET(5, 0),
    STORE(kByte, 2, 34, 5),
    LOAD(kHalf, 5, 2, 36),  // the type went from 8 to 0: the sum grows by that
    ADD(5, 8),
    MOVE(6, 5),
    SHIFT_RIGHT(6, 16),
    ADD_REGISTER(5, 6),
    STORE(kHalf, 2, 36, 5),
    SET(1, 0),  // ifindex of bpf_redirect
    SET(2, 0),
    SET(0, kSendBack),  // or the call of it
    RETURN,
    SET(0, kPass),
    RETURN,
};
enum { kTarget = 33, kVerdict = 35, kCount = sizeof answer_program / sizeof(struct Instruction) };

static long call(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
}

static size_t length(const char* text) {
    size_t size = 0;
    while (text[size] != 0) ++size;
    return size;
}

static _Noreturn void finish(const char* why) {
    call(kWrite, 2, (long)why, (long)length(why));
    for (;;) call(kExit, *why != 0, 0, 0);
}

static char verifier_log[65536];

static void load(const struct Instruction* program, unsigned count, const char* path) {
    static const char license[] = "Apache-2.0";
    struct {
        uint32_t type, count;
        uint64_t instructions, license;
        uint32_t log_level, log_size;
        uint64_t log;
        uint8_t rest[80];
    } load_attributes = {kTypeXdp, count, (uint64_t)program, (uint64_t)license, 1,
                         sizeof verifier_log, (uint64_t)verifier_log, {0}};
    const long program_fd = call(kBpf, kProgramLoad, (long)&load_attributes, 48);
    if (program_fd < 0) {
        call(kWrite, 2, (long)verifier_log, (long)length(verifier_log));
        finish("xdp_loader: the kernel does not take the program\n");
    }
    struct {
        uint64_t path;
        uint32_t program, flags;
    } pin = {(uint64_t)path, (uint32_t)program_fd, 0};
    if (call(kBpf, kObjectPin, (long)&pin, sizeof pin) < 0) finish("xdp_loader: not pinned\n");
}

static int number(const char* text) {
    int value = 0;
    for (; *text >= '0' && *text <= '9'; ++text) value = value * 10 + (*text - '0');
    return value;
}

__attribute__((used)) void start(long* stack) {
    char** arguments = (char**)(stack + 1);
    if (stack[0] < 3) finish("usage: xdp_loader pass|drop|answer|redirect PATH [IFINDEX]\n");
    const char which = arguments[1][0];
    if (which == 'p' || which == 'd') {
        constant_program[0].immediate = which == 'p' ? kPass : kDrop;
        load(constant_program, 2, arguments[2]);
        finish("");
    }
    if (which == 'r') {
        if (stack[0] < 4) finish("xdp_loader: redirect where to?\n");
        answer_program[kTarget].immediate = number(arguments[3]);
        answer_program[kVerdict] = (struct Instruction)CALL(kRedirect);
    }
    load(answer_program, kCount, arguments[2]);
    finish("");
}

__asm__(".globl _start\n_start:\n mov %rsp, %rdi\n and $-16, %rsp\n call start\n");
