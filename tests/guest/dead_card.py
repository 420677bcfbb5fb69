# SPDX-License-Identifier: Apache-2.0
"""A card with the right ids whose firmware never answers: what a broken device looks like to
scripts/guest. A vfio-user server with a configuration space and a BAR that reads as zero."""

import array
import os
import socket
import struct
import threading

HEADER = struct.Struct("<HHIIi")  # id, command, size, flags, errno
REPLY, NO_REPLY, ERROR = 0x1, 0x10, 0x20
VERSION, DMA_MAP, DMA_UNMAP, INFO, REGION_INFO, IRQ_INFO = 1, 2, 3, 4, 5, 7
SET_IRQS, READ, WRITE, RESET, WRITE_MULTI = 8, 9, 10, 13, 15
BAR_BYTES = 32 << 20
BAR0, CONFIG = 0, 7


def configuration(device):
    space = bytearray(4096)
    struct.pack_into("<HH", space, 0x00, 0x15B3, device)
    struct.pack_into("<I", space, 0x08, 0x02000000)  # Ethernet controller
    struct.pack_into("<I", space, 0x10, 0x0000000C)  # BAR0: memory, 64 bits, prefetchable
    struct.pack_into("<HH", space, 0x2C, 0x15B3, 0x0001)
    return space


class DeadCard(threading.Thread):
    """Serves one client after the other on `path` until `close`."""

    def __init__(self, path, device=0x1017):
        super().__init__(daemon=True, name="dead card")
        self.path, self.config = path, configuration(device)
        self.reads = 0  # of the BAR, by any driver
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(1)
        self.start()

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def run(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with client:
                try:
                    while self._serve(client):
                        pass
                except OSError:
                    pass  # a killed QEMU resets its connection

    def _serve(self, client):
        head, ancillary, _, _ = client.recvmsg(HEADER.size, socket.CMSG_SPACE(16 * 4))
        for level, kind, data in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                descriptors = array.array("i", data[:len(data) // 4 * 4])
                for descriptor in descriptors:
                    os.close(descriptor)
        if len(head) < HEADER.size:
            return False
        identity, command, size, flags, _ = HEADER.unpack(head)
        body = b""
        while len(body) < size - HEADER.size:
            part = client.recv(size - HEADER.size - len(body))
            if not part:
                return False
            body += part
        answer = self._answer(command, body)
        if flags & NO_REPLY:
            return True
        failed = answer is None
        answer = answer or b""
        client.sendall(HEADER.pack(identity, command, HEADER.size + len(answer),
                                   REPLY | (ERROR if failed else 0), 22 if failed else 0)
                       + answer)
        return True

    def _answer(self, command, body):
        """The reply's body; None for EINVAL."""
        if command == VERSION:
            return struct.pack("<HH", 0, 0) + b'{"capabilities":{"max_msg_fds":8}}\0'
        if command in (DMA_MAP, SET_IRQS, RESET, WRITE_MULTI):
            return b""
        if command == DMA_UNMAP:
            return body[:24]
        if command == INFO:
            return struct.pack("<IIII", 16, 0x3, 9, 5)
        if command == REGION_INFO:
            index = struct.unpack_from("<I", body, 8)[0]
            size = {BAR0: BAR_BYTES, CONFIG: len(self.config)}.get(index, 0)
            return struct.pack("<IIIIQQ", 32, 0x3 if size else 0, index, 0, size, 0)
        if command == IRQ_INFO:
            index = struct.unpack_from("<I", body, 8)[0]
            return struct.pack("<IIII", 16, 0x1, index, 0)
        if command in (READ, WRITE):
            return self._access(command, body)
        return None

    def _access(self, command, body):
        offset, region, count = struct.unpack_from("<QII", body)
        end = offset + count
        if end > {BAR0: BAR_BYTES, CONFIG: len(self.config)}.get(region, 0):
            return None
        if command == READ:
            self.reads += region == BAR0
            data = bytes(self.config[offset:end]) if region == CONFIG else bytes(count)
            return body[:16] + data
        if region == CONFIG:
            writable = [i for i in range(offset, end) if i in (4, 5, 0x3C)]
            for index in writable:
                self.config[index] = body[16 + index - offset]
        return body[:16]
