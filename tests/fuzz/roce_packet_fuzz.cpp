// SPDX-License-Identifier: Apache-2.0
//
// A hostile wire: frames from random bytes, or good packets spoilt (with their checksums made right
// again or not) go through parse(). Apart from "no crash": a good packet comes back as it was
// made; what parse() calls a packet has its payload inside the frame, and built anew from the
// values it has the same bytes wherever a sender has no choice; a packet of version 2 or 1 looks
// like one.
#include "eth/wire/checksum.h"
#include "eth/wire/ip.h"
#include "roce/wire/codec.h"
#include "tests/fuzz/fuzz_support.h"

#include <array>
#include <cstring>

namespace {

using namespace cxsim;
using fuzz::broken;
using fuzz::Input;

constexpr std::uint32_t kMaxPayload = 300;

class Bench {
  public:
    explicit Bench(Input& input) : input_(input) {}

    void run() {
        const std::uint8_t kind = input_.byte();
        if (kind % 4 == 0) {
            const auto raw = input_.take(2048);
            model::FramePtr frame = pool_.make(static_cast<std::uint32_t>(raw.size()));
            std::ranges::copy(raw, frame->bytes().begin());
            if (kind % 8 == 0) frame->synthetic = kind * 16U;
            check(*frame);
            return;
        }
        const roce::Path path(description());
        const roce::TransportHeaders headers = transport();
        const bool payload = headers.opcode != roce::kCnpOpcode && headers.traits().payload;
        const std::uint32_t stored = payload ? input_.word() % kMaxPayload : 0;
        const std::uint32_t synthetic = payload && kind % 4 == 1 ? input_.word() % 4097U : 0;
        model::FramePtr frame = roce::build(pool_, path, headers, stored, synthetic, input_.word());
        std::ranges::fill(roce::payload_of(*frame, path, headers.opcode, stored), std::byte{0x5a});
        roce::seal(*frame, path);
        check_good(*frame, headers, stored, synthetic);
        spoil(*frame, path);
        check(*frame);
    }

  private:
    roce::Path::Description description() {
        roce::Path::Description d;
        const std::uint8_t choice = input_.byte();
        d.kind = static_cast<roce::NetworkKind>(choice % 3);
        d.has_vlan = (choice & 0x80) != 0;
        d.vlan_tci = d.has_vlan ? input_.word() : std::uint16_t{0};
        d.source_mac = {input_.dword()};
        d.destination_mac = {input_.dword()};
        d.source[15] = static_cast<std::byte>(input_.byte());
        d.destination[0] = static_cast<std::byte>(input_.byte());
        d.destination[13] = static_cast<std::byte>(input_.byte());
        d.traffic_class = input_.byte();
        d.hop_limit = input_.byte();
        d.flow_label = input_.dword();
        d.source_port = input_.word();
        return d;
    }

    /// Of an opcode that there is; only the fields of the BTH differ from zero.
    roce::TransportHeaders transport() {
        roce::TransportHeaders headers;
        do {
            headers.opcode = input_.byte();
        } while (headers.opcode != roce::kCnpOpcode &&
                 !roce::allowed(headers.service(), headers.operation()));
        const std::uint8_t flags = input_.byte();
        headers.solicited = (flags & 1) != 0;
        headers.migrated = (flags & 2) != 0;
        headers.fecn = (flags & 4) != 0;
        headers.becn = (flags & 8) != 0;
        headers.ack_request = (flags & 16) != 0;
        headers.pkey = input_.word();
        headers.destination_qp = input_.dword() & roce::kPsnMask;
        headers.psn = input_.dword() & roce::kPsnMask;
        return headers;
    }

    void check_good(const model::Frame& frame, roce::TransportHeaders headers, std::uint32_t stored,
                    std::uint32_t synthetic) {
        if (roce::parse(frame, packet_) != roce::Parsed::packet) broken("a good packet is refused");
        headers.pad = static_cast<std::uint8_t>((0U - (stored + synthetic)) & 3U);
        if (packet_.headers != headers) broken("a header changed");
        if (packet_.payload_bytes != stored + synthetic || packet_.payload.size() != stored) {
            broken("a payload changed its length");
        }
    }

    /// Some bytes, the length; then checksums made right again, so that what lies behind their
    /// checks is seen.
    void spoil(model::Frame& frame, const roce::Path& path) {
        const std::uint8_t how = input_.byte();
        for (unsigned i = how % 8; i-- > 0;) {
            const std::span<std::byte> bytes = frame.bytes();
            // Mostly the headers.
            const std::size_t range = (how & 8) != 0 ? bytes.size() : 100U;
            bytes[input_.word() % std::min(range, bytes.size())] =
                static_cast<std::byte>(input_.byte());
        }
        if ((how & 0x10) != 0) repair(frame, path);
        if ((how & 0x20) != 0) frame.resize(input_.word() % (frame.stored() + 1U));
        if ((how & 0x40) != 0) {
            const std::uint32_t before = frame.stored();
            frame.resize(before + std::min<std::uint32_t>(frame.tailroom(), input_.byte()));
            std::ranges::fill(frame.bytes().subspan(before), std::byte{0});
        }
        if ((how & 0x80) != 0) frame.synthetic = input_.word() % 5000U;
    }

    static void repair(model::Frame& frame, const roce::Path& path) {
        const roce::Path::Description& d = path.description();
        const std::size_t network = eth::kEthernetBytes + (d.has_vlan ? eth::kVlanTagBytes : 0U);
        if (d.kind == roce::NetworkKind::roce_v2_ipv4) {
            const std::span<std::byte> header = frame.bytes().subspan(network, eth::kIpv4Bytes);
            const eth::Ipv4 ip(header.data());
            ip.set_checksum(0);
            ip.set_checksum(eth::internet_checksum(header));
        }
        roce::seal(frame, path);
    }

    void check(const model::Frame& frame) {
        const bool looks = roce::looks_like_roce(frame);
        const roce::Parsed result = roce::parse(frame, packet_);
        if (looks != (result != roce::Parsed::not_roce)) broken("looks and is differ");
        if (result != roce::Parsed::packet) return;
        const std::span<const std::byte> bytes = frame.bytes();
        if (packet_.payload.size() > packet_.payload_bytes) broken("more payload than counted");
        if (!packet_.payload.empty() &&
            (packet_.payload.data() < bytes.data() ||
             packet_.payload.data() + packet_.payload.size() > bytes.data() + bytes.size())) {
            broken("payload outside the frame");
        }
        if (packet_.frame_bytes != frame.size()) broken("the frame's length");
        check_anew(frame);
    }

    void check_anew(const model::Frame& frame) {
        roce::Path::Description d;
        d.kind = packet_.kind;
        d.source_mac = packet_.source_mac;
        d.destination_mac = packet_.destination_mac;
        d.has_vlan = packet_.has_vlan;
        d.vlan_tci = packet_.vlan_tci;
        d.source = packet_.source;
        d.destination = packet_.destination;
        d.traffic_class = packet_.traffic_class;
        d.hop_limit = packet_.hop_limit;
        d.flow_label = packet_.flow_label;
        d.source_port = packet_.source_port;
        const std::size_t network = eth::kEthernetBytes + (d.has_vlan ? eth::kVlanTagBytes : 0U);
        const bool v4 = d.kind == roce::NetworkKind::roce_v2_ipv4;
        const std::span<const std::byte> old = frame.bytes();
        const std::uint16_t id = v4 ? eth::ConstIpv4(old.data() + network).id() : std::uint16_t{0};
        const auto stored = static_cast<std::uint32_t>(packet_.payload.size());
        const roce::Path path(d);
        const std::uint8_t opcode = packet_.headers.opcode;
        const model::FramePtr anew =
            roce::build(pool_, path, packet_.headers, stored, packet_.payload_bytes - stored, id);
        std::ranges::copy(packet_.payload, roce::payload_of(*anew, path, opcode, stored).begin());
        roce::seal(*anew, path);
        if (anew->size() > frame.size()) broken("a packet grew");

        roce::ReceivedPacket again;
        if (roce::parse(*anew, again) != roce::Parsed::packet) broken("a packet anew is refused");
        if (again.headers != packet_.headers) broken("headers changed");
        if (again.payload_bytes != packet_.payload_bytes) broken("the payload's length changed");
        compare(old, std::as_const(*anew).bytes(), path);
    }

    /// Byte by byte, but where a sender may write what it likes and no receiver looks.
    void compare(std::span<const std::byte> old, std::span<const std::byte> anew,
                 const roce::Path& path) {
        const roce::Path::Description& d = path.description();
        const std::size_t network = eth::kEthernetBytes + (d.has_vlan ? eth::kVlanTagBytes : 0U);
        const std::size_t bth = path.header_bytes();
        const std::uint8_t opcode = packet_.headers.opcode;
        const roce::WireService service = packet_.headers.service();
        const std::size_t front = bth + roce::transport_header_bytes(opcode);
        // The frame may end (be only counted) within padding or ICRC.
        const std::size_t common =
            std::min({old.size(), anew.size(), front + packet_.payload.size()});
        std::array<std::uint8_t, 128> free{};  // bits of headers
        if (d.kind == roce::NetworkKind::roce_v2_ipv4) {
            free[network + 6] = 0xc0;  // reserved, don't fragment; and with them the checksum
            free[network + 10] = free[network + 11] = 0xff;
        }
        if (d.kind != roce::NetworkKind::roce_v1) free[bth - 2] = free[bth - 1] = 0xff;
        free[bth + 4] = 0x3f;
        free[bth + 8] = 0x7f;
        const bool cnp = opcode == roce::kCnpOpcode;
        if (!cnp && service == roce::WireService::ud) free[bth + 16] = 0xff;
        if (service == roce::WireService::xrc && packet_.headers.traits().request) {
            free[bth + 12] = 0xff;
        }
        for (std::size_t i = 0; i < common; ++i) {
            const unsigned differ = std::to_integer<unsigned>(old[i] ^ anew[i]);
            if ((differ & ~(i < front ? free[i] : 0U)) != 0) broken("a packet anew differs");
        }
    }

    Input& input_;
    model::FramePool pool_;
    roce::ReceivedPacket packet_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input input(data, size);
    Bench(input).run();
    return 0;
}
