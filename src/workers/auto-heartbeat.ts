import type { ActivityInterceptorsFactory } from '@temporalio/worker';

/**
 * Every activity with a heartbeat timeout beats by itself, three times within it: a worker that is killed is missed after
 * the timeout, whatever it was doing. Every beat says all details, each as it was last said: so that a beat of ours hides
 * none of the activity's own, nor those of the tries before.
 */
export const autoHeartbeat: ActivityInterceptorsFactory = (context) => ({
  inbound: {
    async execute(input, next) {
      const { heartbeatTimeoutMs, heartbeatDetails } = context.info;
      if (!heartbeatTimeoutMs) return next(input);
      let details: object | undefined = heartbeatDetails;
      const beat = context.heartbeat;
      Object.assign(context, {
        heartbeat: (own?: object) => beat((details = own ? { ...details, ...own } : details)),
      });
      const timer = setInterval(() => beat(details), heartbeatTimeoutMs / 3);
      try {
        return await next(input);
      } finally {
        clearInterval(timer);
      }
    },
  },
});
