"""A camera that is GStreamer's RTSP server: plays a clip to whoever comes. Reads its options as one line of JSON, says "ready" once it listens."""
import json
import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtsp", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import Gio, GLib, Gst, GstRtsp, GstRtspServer

options = json.loads(sys.stdin.readline())
Gst.init(None)
server = GstRtspServer.RTSPServer()
host, _, port = options["address"].rpartition(":")
server.set_address(host)
server.set_service(port)

factory = GstRtspServer.RTSPMediaFactory()
codec = {"h264": "h264", "h265": "h265"}[options["codec"]]
factory.set_launch(
    f"( filesrc location={options['clip']} ! qtdemux ! {codec}parse ! rtp{codec}pay name=pay0 pt=96 config-interval=1 )"
)
tcp, udp = GstRtsp.RTSPLowerTrans.TCP, GstRtsp.RTSPLowerTrans.UDP
factory.set_protocols(udp if options["udp"] else tcp)

auth = GstRtspServer.RTSPAuth()
if options["certificate"]:
    auth.set_tls_certificate(Gio.TlsCertificate.new_from_files(options["certificate"], options["key"]))
permissions = GstRtspServer.RTSPPermissions()
for permission in "media.factory.access", "media.factory.construct":
    permissions.add_permission_for_role("viewer", permission, True)
factory.set_permissions(permissions)
token = GstRtspServer.RTSPToken()
token.set_string("media.factory.role", "viewer")
if not options["user"]:
    auth.set_default_token(token)
elif options["auth"] == "basic":
    auth.set_supported_methods(GstRtsp.RTSPAuthMethod.BASIC)
    auth.add_basic(GstRtspServer.RTSPAuth.make_basic(options["user"], options["password"]), token)
else:
    auth.set_supported_methods(GstRtsp.RTSPAuthMethod.DIGEST)
    auth.add_digest(options["user"], options["password"], token)
server.set_auth(auth)
server.get_mount_points().add_factory("/main", factory)
if not server.attach(None):
    sys.exit(f"cannot listen at {options['address']}")
print("ready", flush=True)
GLib.MainLoop().run()
