// SPDX-License-Identifier: Apache-2.0
#include "pcie/config_space/vital_product_data.h"

#include "model/params/config_error.h"

namespace cxsim::pcie {

namespace {

// Large resource data types, small end tag.
constexpr std::uint8_t kIdentifierString = 0x82;
constexpr std::uint8_t kReadOnly = 0x90;
constexpr std::uint8_t kReadWrite = 0x91;
constexpr std::uint8_t kEnd = 0x78;
constexpr std::size_t kFieldHeader = 3;  // two characters of keyword, one byte of length
constexpr std::size_t kAddressSpace = 0x8000;

[[noreturn]] void refuse(const std::string& key, const std::string& problem) {
    throw model::ConfigError({"PCI function", 0}, "vpd." + key, problem);
}

std::size_t length_of(const std::vector<VpdField>& fields) {
    std::size_t length = 0;
    for (const VpdField& field : fields) {
        if (field.keyword.size() != 2 || field.keyword == "RV" || field.keyword == "RW") {
            refuse(field.keyword, "a keyword has two characters and is neither RV nor RW");
        }
        if (field.value.size() > 255) refuse(field.keyword, "longer than 255 characters");
        length += kFieldHeader + field.value.size();
    }
    return length;
}

}  // namespace

VitalProductData::VitalProductData(const VpdConfig& config) {
    if (config.product_name.size() > 0xffff) refuse("product_name", "longer than 65535 characters");
    if (config.reserved_bytes > 254) refuse("reserved_bytes", "must be at most 254");
    if (config.writable_bytes > 255) refuse("writable_bytes", "must be at most 255");

    append_resource(kIdentifierString, config.product_name.size());
    append_text(config.product_name);

    append_resource(kReadOnly,
                    length_of(config.read_only) + kFieldHeader + 1 + config.reserved_bytes);
    for (const VpdField& field : config.read_only) append_field(field);
    append_text("RV");
    image_.push_back(static_cast<std::byte>(1 + config.reserved_bytes));
    // The bytes from the first up to and including the checksum add up to 0.
    std::uint8_t sum = 0;
    for (const std::byte byte : image_)
        sum = static_cast<std::uint8_t>(sum + std::to_integer<unsigned>(byte));
    image_.push_back(static_cast<std::byte>(-sum));
    image_.insert(image_.end(), config.reserved_bytes, std::byte{0});

    if (!config.read_write.empty() || config.writable_bytes > 0) {
        append_resource(kReadWrite,
                        length_of(config.read_write) + kFieldHeader + config.writable_bytes);
        writable_start_ = image_.size();
        for (const VpdField& field : config.read_write) append_field(field);
        append_text("RW");
        image_.push_back(static_cast<std::byte>(config.writable_bytes));
        image_.insert(image_.end(), config.writable_bytes, std::byte{0});
        writable_end_ = image_.size();
    }
    if (config.end_tag) image_.push_back(std::byte{kEnd});
    if (image_.size() > kAddressSpace) refuse("size", "the image exceeds 32 KiB");
}

void VitalProductData::append_resource(std::uint8_t tag, std::size_t length) {
    if (length > 0xffff) refuse("size", "a resource exceeds 65535 bytes");
    image_.push_back(std::byte{tag});
    image_.push_back(static_cast<std::byte>(length & 0xff));
    image_.push_back(static_cast<std::byte>(length >> 8));
}

void VitalProductData::append_text(const std::string& text) {
    for (const char c : text) image_.push_back(static_cast<std::byte>(c));
}

void VitalProductData::append_field(const VpdField& field) {
    append_text(field.keyword);
    image_.push_back(static_cast<std::byte>(field.value.size()));
    append_text(field.value);
}

std::uint32_t VitalProductData::read(std::uint16_t address) const {
    const std::size_t at = address & 0x7ffcu;
    std::uint32_t value = 0;
    for (unsigned i = 0; i < 4 && at + i < image_.size(); ++i) {
        value |= std::to_integer<std::uint32_t>(image_[at + i]) << (8 * i);
    }
    return value;
}

void VitalProductData::write(std::uint16_t address, std::uint32_t value) {
    // Structure bytes (keywords, lengths) inside VPD-W are writable too: the specification gives
    // software the whole VPD-W data area to lay out.
    const std::size_t at = address & 0x7ffcu;
    for (unsigned i = 0; i < 4; ++i) {
        if (at + i < writable_start_ || at + i >= writable_end_) continue;
        image_[at + i] = static_cast<std::byte>(value >> (8 * i));
    }
}

}  // namespace cxsim::pcie
