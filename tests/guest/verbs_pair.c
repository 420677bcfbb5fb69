// SPDX-License-Identifier: Apache-2.0
// Both ends of a connection in one process: traffic of known size, and faults on purpose, for
// tests that look at counters afterwards. Each step has a pair of QPs of its own.
//
//   verbs_pair NS1:DEVICE1 NS2:DEVICE2 STEP...
//     traffic:N     N of each: WRITE, WRITE with immediate, SEND, READ, FETCH_ADD; all compared
//     rnr           a SEND without a receive until its retries are spent, three more behind it
//     late          a SEND whose receive comes 20 ms later
//     access        a WRITE with a key that does not exist; two receives at the other end
//     length        a SEND larger than its receive
//     silent:T:R    a SEND to a QP that is gone, with timeout T and R retries
//     windows:N     memory windows of both types over a region without rights for peers, N rounds of
//                   bind, WRITE, READ and invalidate; each ends with a WRITE that is refused
//     rebind        a window of type 2 that is bound already
//     marked:N      N repetitions of a SEND that the network has marked (CE), from a raw socket
//
// It prints one line for each step, and what went wrong; the status says whether all went right.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { kBytes = 1 << 20, kReceives = 16, kMessage = 2500, kPsn = 0xfffff0 };

static void fail(const char* format, ...) {
    va_list list;
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    printf("\n");
    exit(1);
}

static void pause_ms(long ms) {
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

struct End {
    struct ibv_context* context;
    struct ibv_pd* pd;
    struct ibv_cq* cq;
    struct ibv_mr* mr;
    struct ibv_qp* qp;
    unsigned char* bytes;
    union ibv_gid gid;
    int gid_index;
    int raw;  // packet socket of its network device
    int interface;
    unsigned char mac[6];
};

// A network namespace with its own view of /sys, where libibverbs looks for devices.
static void enter(const char* name) {
    char path[128];
    snprintf(path, sizeof path, "/run/netns/%s", name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET) != 0) fail("no namespace %s", name);
    close(fd);
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", "none", MS_SLAVE | MS_REC, NULL) != 0) {
        fail("unshare");
    }
    umount2("/sys", MNT_DETACH);
    if (mount(name, "/sys", "sysfs", 0, NULL) != 0) fail("mount /sys");
}

static void open_end(struct End* end, char* where) {
    char* device = strchr(where, ':');
    if (device == NULL) fail("NAMESPACE:DEVICE, not %s", where);
    *device++ = 0;
    enter(where);
    int count = 0;
    struct ibv_device** list = ibv_get_device_list(&count);
    for (int i = 0; i < count; ++i) {
        if (strcmp(ibv_get_device_name(list[i]), device) == 0) {
            end->context = ibv_open_device(list[i]);
        }
    }
    if (end->context == NULL) fail("no device %s in %s (of %d)", device, where, count);
    end->gid_index = -1;
    for (unsigned i = 0; i < 16 && end->gid_index < 0; ++i) {
        struct ibv_gid_entry entry;
        if (ibv_query_gid_ex(end->context, 1, i, &entry, 0) == 0 &&
            entry.gid_type == IBV_GID_TYPE_ROCE_V2 && entry.gid.raw[10] == 0xff &&
            entry.gid.raw[11] == 0xff) {
            end->gid = entry.gid;
            end->gid_index = (int)i;
            end->interface = (int)entry.ndev_ifindex;
        }
    }
    if (end->gid_index < 0) fail("%s has no GID of an IPv4 address", device);
    end->raw = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    struct ifreq request = {0};
    if (if_indextoname((unsigned)end->interface, request.ifr_name) == NULL ||
        ioctl(end->raw, SIOCGIFHWADDR, &request) != 0) {
        fail("address of %s", device);
    }
    memcpy(end->mac, request.ifr_hwaddr.sa_data, 6);
    end->bytes = aligned_alloc(4096, kBytes);
    end->pd = ibv_alloc_pd(end->context);
    end->cq = ibv_create_cq(end->context, 256, NULL, NULL, 0);
    if (end->pd == NULL || end->cq == NULL) fail("PD or CQ of %s", device);
    end->mr = ibv_reg_mr(end->pd, end->bytes, kBytes,
                         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                             IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
    if (end->mr == NULL) fail("MR of %s", device);
}

static void create_qp(struct End* end) {
    struct ibv_qp_init_attr wanted = {
        .send_cq = end->cq,
        .recv_cq = end->cq,
        .cap = {.max_send_wr = 64, .max_recv_wr = kReceives, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 1};
    end->qp = ibv_create_qp(end->pd, &wanted);
    if (end->qp == NULL) fail("create QP");
    struct ibv_qp_attr attributes = {
        .qp_state = IBV_QPS_INIT,
        .port_num = 1,
        .qp_access_flags =
            IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC};
    if (ibv_modify_qp(end->qp, &attributes,
                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0) {
        fail("to INIT");
    }
}

static void connect_end(struct End* end, const struct End* peer, unsigned timeout,
                        unsigned retries, unsigned rnr_retries) {
    struct ibv_qp_attr attributes = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = IBV_MTU_1024,
        .dest_qp_num = peer->qp->qp_num,
        .rq_psn = kPsn,
        .max_dest_rd_atomic = 4,
        .min_rnr_timer = 10,  // 0.24 ms
        .ah_attr = {.is_global = 1,
                    .port_num = 1,
                    .grh = {.dgid = peer->gid,
                            .sgid_index = (unsigned char)end->gid_index,
                            .hop_limit = 64}}};
    if (ibv_modify_qp(end->qp, &attributes,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                          IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0) {
        fail("to RTR");
    }
    memset(&attributes, 0, sizeof attributes);
    attributes.qp_state = IBV_QPS_RTS;
    attributes.timeout = (unsigned char)timeout;
    attributes.retry_cnt = (unsigned char)retries;
    attributes.rnr_retry = (unsigned char)rnr_retries;
    attributes.sq_psn = kPsn;
    attributes.max_rd_atomic = 4;
    if (ibv_modify_qp(end->qp, &attributes,
                      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                          IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) != 0) {
        fail("to RTS");
    }
}

static void join(struct End* ends, unsigned timeout, unsigned retries, unsigned rnr_retries) {
    create_qp(&ends[0]);
    create_qp(&ends[1]);
    connect_end(&ends[0], &ends[1], timeout, retries, rnr_retries);
    connect_end(&ends[1], &ends[0], timeout, retries, rnr_retries);
}

static void part(struct End* ends) {
    for (int i = 0; i < 2; ++i) {
        if (ends[i].qp != NULL) ibv_destroy_qp(ends[i].qp);
        ends[i].qp = NULL;
    }
}

static void receive(struct End* end, unsigned at, unsigned length) {
    struct ibv_sge piece = {(uintptr_t)end->bytes + at, length, end->mr->lkey};
    struct ibv_recv_wr wr = {.sg_list = &piece, .num_sge = 1}, *bad;
    if (ibv_post_recv(end->qp, &wr, &bad) != 0) fail("post receive");
}

static void post(struct End* end, enum ibv_wr_opcode opcode, unsigned at, unsigned length,
                 uint64_t remote, uint32_t key) {
    struct ibv_sge piece = {(uintptr_t)end->bytes + at, length, end->mr->lkey};
    struct ibv_send_wr wr = {
        .sg_list = &piece, .num_sge = 1, .opcode = opcode, .imm_data = htonl(at)}, *bad;
    if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        wr.wr.atomic.remote_addr = remote;
        wr.wr.atomic.rkey = key;
        wr.wr.atomic.compare_add = 3;
    } else {
        wr.wr.rdma.remote_addr = remote;
        wr.wr.rdma.rkey = key;
    }
    if (ibv_post_send(end->qp, &wr, &bad) != 0) fail("post send");
}

static struct ibv_wc finish(struct End* end, enum ibv_wc_status wanted, const char* what) {
    struct ibv_wc wc;
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (;;) {
        const int n = ibv_poll_cq(end->cq, 1, &wc);
        if (n < 0) fail("poll");
        if (n > 0) break;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec > begin.tv_sec + 30) fail("%s: no completion in 30 s", what);
        sched_yield();  // one processor for the guest's two ends and all else
    }
    if (wc.status != wanted) {
        fail("%s: %s, not %s", what, ibv_wc_status_str(wc.status), ibv_wc_status_str(wanted));
    }
    return wc;
}

static void fill(struct End* end, unsigned at, unsigned length, unsigned seed) {
    for (unsigned i = 0; i < length; ++i) {
        seed = seed * 1664525 + 1013904223;
        end->bytes[at + i] = (unsigned char)(seed >> 24);
    }
}

static void same(const unsigned char* one, const unsigned char* other, unsigned length,
                 const char* what) {
    if (memcmp(one, other, length) != 0) fail("%s: other bytes arrived", what);
}

static void traffic(struct End* ends, unsigned count) {
    struct End *a = &ends[0], *b = &ends[1];
    const uint64_t there = (uintptr_t)b->bytes;
    uint64_t sum = 0;
    join(ends, 14, 7, 7);
    memset(b->bytes + 65536, 0, 8);
    for (unsigned i = 0; i < count; ++i) {
        fill(a, 0, kMessage, i);
        post(a, IBV_WR_RDMA_WRITE, 0, kMessage, there, b->mr->rkey);
        finish(a, IBV_WC_SUCCESS, "WRITE");
        same(a->bytes, b->bytes, kMessage, "WRITE");

        receive(b, 16384, kMessage);
        post(a, IBV_WR_RDMA_WRITE_WITH_IMM, 0, kMessage - 500, there + 4096, b->mr->rkey);
        finish(a, IBV_WC_SUCCESS, "WRITE with immediate");
        const struct ibv_wc wc = finish(b, IBV_WC_SUCCESS, "its receive");
        if (wc.opcode != IBV_WC_RECV_RDMA_WITH_IMM || wc.imm_data != htonl(0) ||
            wc.byte_len != kMessage - 500) {
            fail("WRITE with immediate: opcode %d, %u bytes", wc.opcode, wc.byte_len);
        }
        same(a->bytes, b->bytes + 4096, kMessage - 500, "WRITE with immediate");

        receive(b, 16384, kMessage);
        post(a, IBV_WR_SEND, 0, kMessage, 0, 0);
        finish(a, IBV_WC_SUCCESS, "SEND");
        finish(b, IBV_WC_SUCCESS, "its receive");
        same(a->bytes, b->bytes + 16384, kMessage, "SEND");

        fill(b, 32768, kMessage, i + 77);
        post(a, IBV_WR_RDMA_READ, 8192, kMessage, there + 32768, b->mr->rkey);
        finish(a, IBV_WC_SUCCESS, "READ");
        same(a->bytes + 8192, b->bytes + 32768, kMessage, "READ");

        post(a, IBV_WR_ATOMIC_FETCH_AND_ADD, 24576, 8, there + 65536, b->mr->rkey);
        finish(a, IBV_WC_SUCCESS, "FETCH_ADD");
        same(a->bytes + 24576, (unsigned char*)&sum, 8, "FETCH_ADD");
        sum += 3;
    }
    same(b->bytes + 65536, (unsigned char*)&sum, 8, "sum of FETCH_ADD");
    part(ends);
}

static void no_receive(struct End* ends) {
    join(ends, 14, 7, 2);
    for (int i = 0; i < 4; ++i) post(&ends[0], IBV_WR_SEND, 0, 64, 0, 0);
    finish(&ends[0], IBV_WC_RNR_RETRY_EXC_ERR, "SEND without receive");
    for (int i = 0; i < 3; ++i) finish(&ends[0], IBV_WC_WR_FLUSH_ERR, "SEND behind it");
    part(ends);
}

static void late_receive(struct End* ends) {
    join(ends, 14, 7, 7);
    fill(&ends[0], 0, kMessage, 5);
    post(&ends[0], IBV_WR_SEND, 0, kMessage, 0, 0);
    pause_ms(20);
    receive(&ends[1], 16384, kMessage);
    finish(&ends[1], IBV_WC_SUCCESS, "late receive");
    finish(&ends[0], IBV_WC_SUCCESS, "SEND");
    same(ends[0].bytes, ends[1].bytes + 16384, kMessage, "SEND to a late receive");
    part(ends);
}

static void wrong_key(struct End* ends) {
    join(ends, 14, 7, 7);
    receive(&ends[1], 0, 64);
    receive(&ends[1], 0, 64);
    post(&ends[0], IBV_WR_RDMA_WRITE, 0, 64, (uintptr_t)ends[1].bytes, ends[1].mr->rkey + 0x100);
    finish(&ends[0], IBV_WC_REM_ACCESS_ERR, "WRITE with a wrong key");
    finish(&ends[1], IBV_WC_WR_FLUSH_ERR, "receive of a stopped QP");
    finish(&ends[1], IBV_WC_WR_FLUSH_ERR, "receive of a stopped QP");
    part(ends);
}

static void too_long(struct End* ends) {
    join(ends, 14, 7, 7);
    receive(&ends[1], 0, 64);
    post(&ends[0], IBV_WR_SEND, 0, 65, 0, 0);
    finish(&ends[1], IBV_WC_LOC_LEN_ERR, "receive that is too short");
    finish(&ends[0], IBV_WC_REM_INV_REQ_ERR, "SEND that is too long");
    part(ends);
}

static void silence(struct End* ends, unsigned timeout, unsigned retries) {
    join(ends, timeout, retries, 7);
    ibv_destroy_qp(ends[1].qp);
    ends[1].qp = NULL;
    post(&ends[0], IBV_WR_SEND, 0, 64, 0, 0);
    finish(&ends[0], IBV_WC_RETRY_EXC_ERR, "SEND to nobody");
    part(ends);
}

// Binds a window to `length` bytes of the end's second region; 0: closes it. Returns its new key.
static uint32_t bind_window(struct End* end, struct ibv_mw* window, struct ibv_mr* region,
                            unsigned at, unsigned length) {
    const struct ibv_mw_bind_info info = {
        .mr = region,
        .addr = (uintptr_t)end->bytes + at,
        .length = length,
        .mw_access_flags = length == 0 ? 0 : IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
    if (window->type == IBV_MW_TYPE_1) {
        struct ibv_mw_bind wanted = {.send_flags = IBV_SEND_SIGNALED, .bind_info = info};
        if (ibv_bind_mw(end->qp, window, &wanted) != 0) fail("bind");
        return window->rkey;
    }
    struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED}, *bad;
    if (length == 0) {
        wr.opcode = IBV_WR_LOCAL_INV;
        wr.invalidate_rkey = window->rkey;
    } else {
        wr.bind_mw.mw = window;
        wr.bind_mw.rkey = ibv_inc_rkey(window->rkey);
        wr.bind_mw.bind_info = info;
    }
    if (ibv_post_send(end->qp, &wr, &bad) != 0) fail("post bind");
    if (length != 0) window->rkey = wr.bind_mw.rkey;
    return window->rkey;
}

static struct ibv_mr* bindable(struct End* end) {
    struct ibv_mr* region =
        ibv_reg_mr(end->pd, end->bytes, kBytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
    if (region == NULL) fail("MR for windows");
    return region;
}

static struct ibv_mw* create_window(struct End* end, enum ibv_mw_type type) {
    struct ibv_mw* window = ibv_alloc_mw(end->pd, type);
    if (window == NULL) fail("window of type %d", type);
    return window;
}

static void windows(struct End* ends, unsigned count) {
    struct End *a = &ends[0], *b = &ends[1];
    const unsigned at = 4096 + 100;
    const uint64_t there = (uintptr_t)b->bytes + at;
    struct ibv_mr* region = bindable(b);
    for (int type = IBV_MW_TYPE_1; type <= IBV_MW_TYPE_2; ++type) {
        struct ibv_mw* window = create_window(b, (enum ibv_mw_type)type);
        // The last closing is by the peer where it can be.
        for (unsigned i = 0; i < count; ++i) {
            join(ends, 14, 7, 7);
            uint32_t key = bind_window(b, window, region, at, kMessage);
            const struct ibv_wc wc = finish(b, IBV_WC_SUCCESS, "bind");
            if (wc.opcode != IBV_WC_BIND_MW) fail("bind: opcode %d", wc.opcode);
            fill(a, 0, kMessage, i + 11);
            post(a, IBV_WR_RDMA_WRITE, 0, kMessage, there, key);
            finish(a, IBV_WC_SUCCESS, "WRITE through a window");
            same(a->bytes, b->bytes + at, kMessage, "WRITE through a window");
            post(a, IBV_WR_RDMA_READ, 8192, kMessage, there, key);
            finish(a, IBV_WC_SUCCESS, "READ through a window");
            same(a->bytes + 8192, b->bytes + at, kMessage, "READ through a window");
            if (type == IBV_MW_TYPE_2 && i + 1 == count) {
                receive(b, 0, 64);
                struct ibv_send_wr wr = {
                    .opcode = IBV_WR_SEND_WITH_INV, .invalidate_rkey = key}, *bad;
                if (ibv_post_send(a->qp, &wr, &bad) != 0) fail("post SEND with invalidate");
                finish(a, IBV_WC_SUCCESS, "SEND with invalidate");
                const struct ibv_wc got = finish(b, IBV_WC_SUCCESS, "its receive");
                if ((got.wc_flags & IBV_WC_WITH_INV) == 0 || got.invalidated_rkey != key) {
                    fail("SEND with invalidate: key %x, not %x", got.invalidated_rkey, key);
                }
            } else {
                key = bind_window(b, window, region, at, 0);
                finish(b, IBV_WC_SUCCESS, "close");
            }
            post(a, IBV_WR_RDMA_WRITE, 0, 8, there, key);
            finish(a, IBV_WC_REM_ACCESS_ERR, "WRITE through a closed window");
            part(ends);
        }
        if (ibv_dealloc_mw(window) != 0) fail("dealloc");
    }
    ibv_dereg_mr(region);
}

static void bind_again(struct End* ends) {
    struct End* b = &ends[1];
    struct ibv_mr* region = bindable(b);
    struct ibv_mw* window = create_window(b, IBV_MW_TYPE_2);
    join(ends, 14, 7, 7);
    bind_window(b, window, region, 0, 64);
    finish(b, IBV_WC_SUCCESS, "bind");
    bind_window(b, window, region, 64, 64);
    finish(b, IBV_WC_MW_BIND_ERR, "bind of a bound window");
    part(ends);
    ibv_dealloc_mw(window);
    ibv_dereg_mr(region);
}

static uint32_t crc32(uint32_t crc, const unsigned char* data, unsigned length) {
    while (length-- > 0) {
        crc ^= *data++;
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320U : 0);
    }
    return crc;
}

// The SEND of 4 bytes with the first PSN once more, as if a switch had marked it on its way.
static void marked(struct End* ends, unsigned count) {
    struct End *a = &ends[0], *b = &ends[1];
    join(ends, 14, 7, 7);
    receive(b, 0, 64);
    post(a, IBV_WR_SEND, 0, 4, 0, 0);
    finish(a, IBV_WC_SUCCESS, "SEND");
    finish(b, IBV_WC_SUCCESS, "its receive");

    unsigned char frame[14 + 20 + 8 + 12 + 4 + 4] = {0}, covered[8 + sizeof frame - 14 - 4];
    unsigned char *ip = frame + 14, *udp = ip + 20, *bth = udp + 8;
    memcpy(frame, b->mac, 6);
    memcpy(frame + 6, a->mac, 6);
    frame[12] = 8;
    const unsigned char header[20] = {0x45, 0x03, 0, sizeof frame - 14, 0, 0, 0x40, 0, 64, 17};
    memcpy(ip, header, 20);
    memcpy(ip + 12, a->gid.raw + 12, 4);
    memcpy(ip + 16, b->gid.raw + 12, 4);
    unsigned sum = 0;
    for (int i = 0; i < 20; i += 2) sum += (unsigned)ip[i] << 8 | ip[i + 1];
    sum = (sum & 0xffff) + (sum >> 16);
    sum = ~((sum & 0xffff) + (sum >> 16));
    ip[10] = (unsigned char)(sum >> 8);
    ip[11] = (unsigned char)sum;
    const unsigned char ports[6] = {0xc0, 1, 4791 >> 8, 4791 & 255, 0, 8 + 12 + 4 + 4};
    memcpy(udp, ports, 6);
    const unsigned queue = b->qp->qp_num;
    const unsigned char base[12] = {4, 0x40, 0xff, 0xff, 0, (unsigned char)(queue >> 16),
                                    (unsigned char)(queue >> 8), (unsigned char)queue, 0x80,
                                    kPsn >> 16 & 255, kPsn >> 8 & 255, kPsn & 255};
    memcpy(bth, base, 12);
    memset(covered, 0xff, 8);
    memcpy(covered + 8, ip, sizeof covered - 8);
    covered[8 + 1] = covered[8 + 8] = covered[8 + 10] = covered[8 + 11] = 0xff;
    covered[8 + 20 + 6] = covered[8 + 20 + 7] = covered[8 + 28 + 4] = 0xff;
    const uint32_t crc = ~crc32(~0U, covered, sizeof covered);
    for (int i = 0; i < 4; ++i) frame[sizeof frame - 4 + (unsigned)i] = (unsigned char)(crc >> 8 * i);

    struct sockaddr_ll to = {
        .sll_family = AF_PACKET, .sll_ifindex = a->interface, .sll_halen = 6};
    memcpy(to.sll_addr, b->mac, 6);
    for (unsigned i = 0; i < count; ++i) {
        if (sendto(a->raw, frame, sizeof frame, 0, (struct sockaddr*)&to, sizeof to) < 0) {
            fail("raw socket");
        }
        pause_ms(5);
    }
    // The connection goes on.
    receive(b, 0, 64);
    post(a, IBV_WR_SEND, 0, 4, 0, 0);
    finish(a, IBV_WC_SUCCESS, "SEND afterwards");
    finish(b, IBV_WC_SUCCESS, "its receive");
    part(ends);
}

int main(int argc, char** argv) {
    static struct End ends[2];
    if (argc < 4) fail("verbs_pair NS1:DEVICE1 NS2:DEVICE2 STEP...");
    setvbuf(stdout, NULL, _IOLBF, 0);
    open_end(&ends[0], argv[1]);
    open_end(&ends[1], argv[2]);
    for (int i = 3; i < argc; ++i) {
        const char* step = argv[i];
        unsigned first = 0, second = 0;
        if (sscanf(step, "traffic:%u", &first) == 1) traffic(ends, first);
        else if (strcmp(step, "rnr") == 0) no_receive(ends);
        else if (strcmp(step, "late") == 0) late_receive(ends);
        else if (strcmp(step, "access") == 0) wrong_key(ends);
        else if (strcmp(step, "length") == 0) too_long(ends);
        else if (sscanf(step, "silent:%u:%u", &first, &second) == 2) silence(ends, first, second);
        else if (sscanf(step, "windows:%u", &first) == 1) windows(ends, first);
        else if (strcmp(step, "rebind") == 0) bind_again(ends);
        else if (sscanf(step, "marked:%u", &first) == 1) marked(ends, first);
        else fail("unknown step %s", step);
        printf("%s: done\n", step);
    }
    return 0;
}
