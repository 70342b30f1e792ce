"""The web service that the skill `finance/exchange-rates` asks. It knows nothing of tools, and stands for one you have already.

    python3 rates.py [PORT]

answers `GET /v1/DAY?base=EUR&symbols=USD,GBP` on this machine.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

USUAL_PORT = 8790
LATEST = "2026-11-13"
# What one euro is worth.
RATES = {"EUR": 1.0, "USD": 1.0842, "GBP": 0.8365, "CHF": 0.9381, "JPY": 167.52}


class Rates(BaseHTTPRequestHandler):
    """Answers one request."""

    def do_GET(self) -> None:
        """Answers with rates, or says which there are none of."""
        url = urlsplit(self.path)
        asked = parse_qs(url.query)
        base = asked.get("base", ["EUR"])[0]
        symbols = asked.get("symbols", [",".join(RATES)])[0].split(",")
        unknown = [currency for currency in (base, *symbols) if currency not in RATES]
        if not url.path.startswith("/v1/") or unknown:
            self._answer(404, {"error": f"no rates for {', '.join(unknown) or url.path}"})
            return
        day = url.path.removeprefix("/v1/")
        rates = {symbol: round(RATES[symbol] / RATES[base], 5) for symbol in symbols}
        self._answer(200, {"base": base, "date": LATEST if day == "latest" else day, "rates": rates})

    def _answer(self, status: int, value: dict[str, object]) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing of requests."""


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else USUAL_PORT
    with ThreadingHTTPServer(("127.0.0.1", port), Rates) as server:
        print(f"rates at http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()
