/** sha256 of each prompt's template and schema: a text that changes gets a new version and a new line here. */
export const pinned: Record<string, string> = {
  'reflection@1': 'b12f51713315b0405bd7fbe72f618018106db246538bb2478dbc8f43397ababf',
  'explore-forgetting@1': '390039a10e16f3ee335575ebfc6c493fa8123e54db69536094dac66d9fefdba7',
  'explore-boundary@1': 'cdf3117483cb895623c1b9cacafd20b1460c5429968c6f5cd3bc507c1fad238c',
  'explore-rare@1': '783dbdf71383cc5731f3a0792f2f61590ecdf4c2f8624090ad43870595aeae49',
  'explore-unguided@1': '54295683d85085b42f5000bad87ec97b5d948e6cbab360a3dca34089a391426d',
  'abstraction@1': 'd94df02d445282340cd9f25a8b094f54d0f236fede2017403f234408ef4d1b90',
  'judge@1': '4e10556629f774441c2b30fe4fb960606fe0473fcd9fc4398d14f47b0d78d288',
  'repair@1': 'f27889ce65952bc26393a83d793894984041bb4a42899d8d71fff1c5740d616a',
};
