// SPDX-License-Identifier: Apache-2.0
// Runs inside a guest, without a C library: an AF_XDP socket in zero-copy mode on one queue that
// sends every UDP datagram for one port back to where it came from.
//   xsk_echo IFINDEX QUEUE CHUNK MODE PORT MILLISECONDS
//   CHUNK  bytes of a frame in the shared memory
//   MODE   letters: u chunks anywhere, not at multiples of their size; b the socket is bound before
//          the program is attached, else after it
// Says "ready" when packets reach the socket. Ends MILLISECONDS after the last datagram and says
// what it received, sent, and how often a frame was not like a datagram.
#include <linux/bpf.h>
#include <linux/if_xdp.h>
#include <stddef.h>
#include <stdint.h>

enum {
    kWrite = 1,
    kPoll = 7,
    kMmap = 9,
    kSocket = 41,
    kSendto = 44,
    kBind = 49,
    kSetsockopt = 54,
    kGetsockopt = 55,
    kExit = 60,
    kClock = 228,
    kBpf = 321
};
enum { kFamily = 44 /* AF_XDP */, kRaw = 3, kLevel = 283 /* SOL_XDP */, kDontWait = 0x40 };
enum { kFrames = 2048, kRing = 2048, kFrameRoom = 4096, kDriverMode = 4 /* XDP_FLAGS_DRV_MODE */ };
enum { kPollIn = 1, kUdpHeaders = 42 };

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
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    print(name);
    print(digits + at);
}

static long must(const char* what, long result) {
    if (result >= 0) return result;
    print("xsk_echo: ");
    print(what);
    print_number(" failed with ", (uint64_t)-result);
    print("\n");
    for (;;) call(kExit, 1, 0, 0, 0, 0, 0);
}

static int64_t milliseconds(void) {
    int64_t time[2] = {0, 0};
    call(kClock, 1 /* CLOCK_MONOTONIC */, (long)time, 0, 0, 0, 0);
    return time[0] * 1000 + time[1] / 1000000;
}

// A ring shared with the kernel: one side moves the producer, the other the consumer.
struct Ring {
    volatile uint32_t* producer;
    volatile uint32_t* consumer;
    volatile uint32_t* flags;
    void* entries;
};

static uint8_t memory[kFrames * kFrameRoom] __attribute__((aligned(4096)));
static struct Ring fill, completed, received, sent;
static int unaligned;

static struct Ring map_ring(int socket, int option, const struct xdp_ring_offset* offsets,
                            size_t entry, long page_offset) {
    int entries = kRing;
    must("ring", call(kSetsockopt, socket, kLevel, option, (long)&entries, sizeof entries, 0));
    struct xdp_mmap_offsets all;
    uint32_t size = sizeof all;
    must("offsets",
         call(kGetsockopt, socket, kLevel, XDP_MMAP_OFFSETS, (long)&all, (long)&size, 0));
    const struct xdp_ring_offset at =
        *(const struct xdp_ring_offset*)((const uint8_t*)&all + (size_t)offsets);
    uint8_t* base = (uint8_t*)must(
        "mmap", call(kMmap, 0, (long)(at.desc + kRing * entry), 3 /* read, write */,
                     0x8001 /* shared, populate */, socket, page_offset));
    const struct Ring ring = {(volatile uint32_t*)(base + at.producer),
                              (volatile uint32_t*)(base + at.consumer),
                              (volatile uint32_t*)(base + at.flags), base + at.desc};
    return ring;
}

#define OFFSETS(member) ((const struct xdp_ring_offset*)offsetof(struct xdp_mmap_offsets, member))

static int open_socket(uint32_t chunk) {
    const int socket = (int)must("socket", call(kSocket, kFamily, kRaw, 0, 0, 0, 0));
    struct xdp_umem_reg region = {.addr = (uint64_t)memory,
                                  .len = sizeof memory,
                                  .chunk_size = chunk,
                                  .flags = unaligned ? XDP_UMEM_UNALIGNED_CHUNK_FLAG : 0};
    must("memory",
         call(kSetsockopt, socket, kLevel, XDP_UMEM_REG, (long)&region, sizeof region, 0));
    fill = map_ring(socket, XDP_UMEM_FILL_RING, OFFSETS(fr), 8, XDP_UMEM_PGOFF_FILL_RING);
    completed = map_ring(socket, XDP_UMEM_COMPLETION_RING, OFFSETS(cr), 8,
                         XDP_UMEM_PGOFF_COMPLETION_RING);
    received = map_ring(socket, XDP_RX_RING, OFFSETS(rx), sizeof(struct xdp_desc),
                        XDP_PGOFF_RX_RING);
    sent = map_ring(socket, XDP_TX_RING, OFFSETS(tx), sizeof(struct xdp_desc), XDP_PGOFF_TX_RING);
    return socket;
}

static void give(uint64_t address) {
    ((uint64_t*)fill.entries)[*fill.producer % kRing] = address;
    __atomic_store_n(fill.producer, *fill.producer + 1, __ATOMIC_RELEASE);
}

static void bind_socket(int socket, uint32_t ifindex, uint32_t queue) {
    struct sockaddr_xdp address = {.sxdp_family = kFamily,
                                   .sxdp_flags = XDP_ZEROCOPY | XDP_USE_NEED_WAKEUP,
                                   .sxdp_ifindex = ifindex,
                                   .sxdp_queue_id = queue};
    must("bind", call(kBind, socket, (long)&address, sizeof address, 0, 0, 0));
    struct xdp_options options = {0};
    uint32_t size = sizeof options;
    must("options", call(kGetsockopt, socket, kLevel, XDP_OPTIONS, (long)&options, (long)&size, 0));
    if ((options.flags & XDP_OPTIONS_ZEROCOPY) == 0) must("zero copy", -1);
}

#define INSTRUCTION(c, to, from, at, value)                                        \
    {.code = (c), .dst_reg = (to), .src_reg = (from), .off = (at), .imm = (value)}
#define LOAD(size, to, from, at) INSTRUCTION(BPF_LDX | BPF_MEM | (size), to, from, at, 0)
#define IF_NOT(left, value, skip) INSTRUCTION(BPF_JMP | BPF_JNE | BPF_K, left, 0, skip, value)

// Datagrams for `port` to the socket of the queue they arrived at, all else to the kernel.
static int load_program(int map, uint16_t port) {
    struct bpf_insn program[] = {
        LOAD(BPF_W, 2, 1, 0),                                      // packet
        LOAD(BPF_W, 3, 1, 4),                                      // its end
        INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_X, 4, 2, 0, 0),
        INSTRUCTION(BPF_ALU64 | BPF_ADD | BPF_K, 4, 0, 0, kUdpHeaders),
        INSTRUCTION(BPF_JMP | BPF_JGT | BPF_X, 4, 3, 12, 0),
        LOAD(BPF_H, 5, 2, 12),
        IF_NOT(5, 0x0008, 10),  // IPv4
        LOAD(BPF_B, 5, 2, 23),
        IF_NOT(5, 17, 8),       // UDP
        LOAD(BPF_H, 5, 2, 36),
        IF_NOT(5, port, 6),
        LOAD(BPF_W, 2, 1, 16),  // receive queue
        INSTRUCTION(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, map),
        INSTRUCTION(0, 0, 0, 0, 0),
        INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, XDP_PASS),
        INSTRUCTION(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect_map),
        INSTRUCTION(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
        INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, XDP_PASS),
        INSTRUCTION(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
    };
    static const char license[] = "Apache-2.0";
    struct {
        uint32_t type, count;
        uint64_t instructions, license;
        uint8_t rest[96];
    } load = {BPF_PROG_TYPE_XDP, sizeof program / sizeof program[0], (uint64_t)program,
              (uint64_t)license, {0}};
    return (int)must("program", call(kBpf, BPF_PROG_LOAD, (long)&load, 72, 0, 0, 0));
}

static int make_map(void) {
    const struct {
        uint32_t type, key, value, entries, flags, rest;
    } map = {BPF_MAP_TYPE_XSKMAP, 4, 4, 64, 0, 0};
    return (int)must("map", call(kBpf, BPF_MAP_CREATE, (long)&map, 20, 0, 0, 0));
}

static void put_into_map(int map, uint32_t queue, uint32_t socket) {
    const struct {
        uint64_t map, key, value, flags;
    } update = {(uint32_t)map, (uint64_t)&queue, (uint64_t)&socket, 0};
    must("entry", call(kBpf, BPF_MAP_UPDATE_ELEM, (long)&update, sizeof update, 0, 0, 0));
}

// The link holds as long as this program runs.
static void attach(int program, uint32_t ifindex) {
    const struct {
        uint32_t program, target, type, flags;
    } link = {(uint32_t)program, ifindex, BPF_XDP, kDriverMode};
    must("attach", call(kBpf, BPF_LINK_CREATE, (long)&link, sizeof link, 0, 0, 0));
}

static void swap(uint8_t* left, uint8_t* right, int bytes) {
    for (int i = 0; i < bytes; ++i) {
        const uint8_t byte = left[i];
        left[i] = right[i];
        right[i] = byte;
    }
}

static uint8_t* frame_at(uint64_t address) {
    const uint64_t base = address & 0xffffffffffffu;
    return memory + base + (unaligned ? address >> 48 : 0);
}

// Gives frames that have been sent back to be filled.
static void recycle(void) {
    const uint32_t end = __atomic_load_n(completed.producer, __ATOMIC_ACQUIRE);
    uint32_t at = *completed.consumer;
    for (; at != end; ++at) {
        give(((uint64_t*)completed.entries)[at % kRing] & 0xffffffffffffu);
    }
    __atomic_store_n(completed.consumer, at, __ATOMIC_RELEASE);
}

static void serve(int socket, uint16_t port, int64_t patience) {
    uint64_t taken = 0, strange = 0;
    int64_t last = milliseconds();
    while (milliseconds() - last < patience) {
        struct {
            int fd;
            short events, happened;
        } wait = {socket, kPollIn, 0};
        call(kPoll, (long)&wait, 1, 20, 0, 0, 0);
        const uint32_t end = __atomic_load_n(received.producer, __ATOMIC_ACQUIRE);
        uint32_t at = *received.consumer;
        for (; at != end; ++at) {
            const struct xdp_desc descriptor =
                ((const struct xdp_desc*)received.entries)[at % kRing];
            uint8_t* frame = frame_at(descriptor.addr);
            const uint32_t length = (uint32_t)frame[16] << 8 | frame[17];
            strange += descriptor.len < 14 + length || *(uint16_t*)(frame + 36) != port;
            swap(frame, frame + 6, 6);
            swap(frame + 26, frame + 30, 4);
            swap(frame + 34, frame + 36, 2);
            ((struct xdp_desc*)sent.entries)[*sent.producer % kRing] = descriptor;
            __atomic_store_n(sent.producer, *sent.producer + 1, __ATOMIC_RELEASE);
            ++taken;
            last = milliseconds();
        }
        __atomic_store_n(received.consumer, at, __ATOMIC_RELEASE);
        if ((*sent.flags & XDP_RING_NEED_WAKEUP) != 0) {
            call(kSendto, socket, 0, 0, kDontWait, 0, 0);
        }
        recycle();
    }
    print_number("received ", taken);
    print_number(" sent ", *sent.consumer);
    print_number(" strange ", strange);
    print("\n");
}

static uint32_t number(const char* text) {
    uint32_t value = 0;
    for (; *text >= '0' && *text <= '9'; ++text) value = value * 10 + (uint32_t)(*text - '0');
    return value;
}

__attribute__((used)) void start(long* stack) {
    char** arguments = (char**)(stack + 1);
    if (stack[0] < 7) must("usage: xsk_echo IFINDEX QUEUE CHUNK MODE PORT MILLISECONDS", -22);
    const uint32_t ifindex = number(arguments[1]), queue = number(arguments[2]);
    const uint32_t chunk = number(arguments[3]), port = number(arguments[5]);
    int bind_first = 0;
    for (const char* mode = arguments[4]; *mode != 0; ++mode) {
        unaligned |= *mode == 'u';
        bind_first |= *mode == 'b';
    }
    const uint16_t wire_port = (uint16_t)(port >> 8 | port << 8);
    const int socket = open_socket(chunk);
    for (uint32_t i = 0; i < kFrames; ++i) {
        // At odd places, but never across a page: the next one may lie anywhere.
        const uint32_t odd = chunk + 512 <= kFrameRoom ? 8 * (i % 64) : 0;
        give(unaligned ? i * (uint64_t)kFrameRoom + odd : i * (uint64_t)chunk);
    }
    const int map = make_map();
    const int program = load_program(map, wire_port);
    if (bind_first) bind_socket(socket, ifindex, queue);
    attach(program, ifindex);
    if (!bind_first) bind_socket(socket, ifindex, queue);
    put_into_map(map, queue, (uint32_t)socket);
    print("ready\n");
    serve(socket, wire_port, number(arguments[6]));
    call(kExit, 0, 0, 0, 0, 0, 0);
}

__asm__(".globl _start\n_start:\n mov %rsp, %rdi\n and $-16, %rsp\n call start\n");
