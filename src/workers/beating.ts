import type { ActivityInterceptorsFactory } from '@temporalio/worker';

/**
 * Every activity with a heartbeat timeout beats by itself, three times within it: a worker that is killed is missed after
 * the timeout, whatever it was doing. The last details are said again, so that a beat of ours hides none of the
 * activity's own, nor those of the try before.
 */
export const beating: ActivityInterceptorsFactory = (context) => ({
  inbound: {
    async execute(input, next) {
      const { heartbeatTimeoutMs, heartbeatDetails } = context.info;
      if (!heartbeatTimeoutMs) return next(input);
      let details: unknown = heartbeatDetails;
      const beat = context.heartbeat;
      Object.assign(context, { heartbeat: (own?: unknown) => beat((details = own ?? details)) });
      const timer = setInterval(() => beat(details), heartbeatTimeoutMs / 3);
      try {
        return await next(input);
      } finally {
        clearInterval(timer);
      }
    },
  },
});
