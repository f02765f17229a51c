# One image for every process; what it does is its argument:
#   docker run coevolve worker --role store
# Python's servers and the Temporal dev server are started from the same image (docker-compose.yml).
FROM node:24.20.0-bookworm-slim@sha256:ba849c60be29959425b8734d57b8b4b7d56f98edd9504c9af091d5281095a71e AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY scripts scripts
COPY src src
# Writes the code caches too, which fit the Node of this image only.
RUN npm run build && npm prune --omit=dev

# Debian 12 has Python 3.11, the version that requirements/product.lock is made for.
FROM node:24.20.0-bookworm-slim@sha256:ba849c60be29959425b8734d57b8b4b7d56f98edd9504c9af091d5281095a71e
WORKDIR /app
# Debian removes old versions from its archive, so a pinned one would soon not build.
# hadolint ignore=DL3008
RUN apt-get update \
  && apt-get install --no-install-recommends -y python3 python3-venv \
  && rm -rf /var/lib/apt/lists/*

# Where torch comes from decides between its CPU and CUDA builds: see README.md. The version is that of scripts/setup.mjs.
ARG PIP_EXTRA_INDEX_URL=
ARG PIP_FIND_LINKS=
ARG TORCH=torch==2.13.0
RUN python3 -m venv .venv && .venv/bin/pip install --no-cache-dir "${TORCH}"
COPY requirements/product.lock requirements/trl.lock requirements/
RUN .venv/bin/pip install --no-cache-dir --no-deps -r requirements/product.lock
# `--build-arg WITH_TRL=yes` adds what jobs with `compute.engine: trl` need.
ARG WITH_TRL=
RUN [ -z "${WITH_TRL}" ] || .venv/bin/pip install --no-cache-dir --no-deps -r requirements/trl.lock
COPY environments environments
COPY trainer trainer
COPY statistics statistics
RUN .venv/bin/pip install --no-cache-dir --no-deps --no-build-isolation ./environments ./trainer ./statistics

COPY package.json LICENSE ./
COPY migrations migrations
COPY examples examples
# The Job that training on Kubernetes submits.
COPY deploy deploy
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist

# The user of the image's own making, node, is 1000. A new volume takes over the owner of the folder that it is mounted on.
RUN install -d -o node -g node /var/lib/coevolve /var/lib/coevolve/artifacts /var/lib/coevolve/environments \
  /var/lib/coevolve/temporal
ENV COEVOLVE_HOME=/var/lib/coevolve
USER 1000:1000
ENTRYPOINT ["node", "dist/cli/main.js"]
CMD ["--help"]
