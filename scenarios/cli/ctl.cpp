// SPDX-License-Identifier: Apache-2.0
// cxsim ctl: questions to a running serve.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>

#include "scenarios/cli/options.h"

namespace cxsim::scenarios {

int run_ctl(const Arguments& arguments) {
    namespace po = boost::program_options;
    po::options_description options("cxsim ctl --socket CONTROL status");
    options.add_options()("help,h", "this text")(
        "socket", po::value<std::string>(), "what serve was given as --control")(
        "question", po::value<std::vector<std::string>>()->multitoken(),
        "status; fail CARD SYNDROME: the card's firmware dies; link CARD up, down, ber RATIO, "
        "delay TIME or impair KEY=VALUE ...");
    po::positional_options_description positional;
    positional.add("question", -1);
    po::variables_map values;
    po::store(po::command_line_parser(arguments).options(options).positional(positional).run(),
              values);
    if (values.count("help") != 0) {
        std::cout << options;
        return 0;
    }
    if (values.count("socket") == 0) throw UsageError("--socket is needed");
    const std::string path = values["socket"].as<std::string>();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) throw UsageError("socket path too long");
    std::copy(path.begin(), path.end(), address.sun_path);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval limit{5, 0};
    if (fd >= 0) ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (fd < 0 || ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        const int error = errno;
        if (fd >= 0) ::close(fd);
        throw std::runtime_error("no serve answers at " + path + ": " + std::strerror(error));
    }
    std::string question;
    if (values.count("question") != 0) {
        for (const auto& word : values["question"].as<std::vector<std::string>>()) {
            question += (question.empty() ? "" : " ") + word;
        }
    }
    question = (question.empty() ? "status" : question) + "\n";
    std::string reply;
    if (::send(fd, question.data(), question.size(), MSG_NOSIGNAL) ==
        static_cast<ssize_t>(question.size())) {
        char buffer[4096];
        ssize_t n = 0;
        while ((n = ::recv(fd, buffer, sizeof buffer, 0)) > 0) {
            reply.append(buffer, static_cast<std::size_t>(n));
        }
    }
    ::close(fd);
    if (reply.empty()) throw std::runtime_error("serve at " + path + " did not answer within 5 s");
    std::cout << reply;
    return reply.find("\"error\"") == std::string::npos ? 0 : 1;
}

}  // namespace cxsim::scenarios
