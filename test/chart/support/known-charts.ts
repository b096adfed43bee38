/**
 * Well-known statecharts, modelled again in their essentials: the subjects of tutorials, and of XState's public
 * examples.
 */
import { and, assign, createMachine, not, raise, sendTo, stateIn, type AnyStateMachine } from 'xstate'

type Config = Parameters<typeof createMachine>[0]

const configs: readonly Config[] = [
  {
    id: 'toggle',
    initial: 'off',
    states: { off: { on: { TOGGLE: 'on' } }, on: { on: { TOGGLE: 'off' }, after: { 30_000: 'off' } } },
  },
  {
    id: 'traffic',
    initial: 'green',
    states: {
      green: { after: { 25_000: 'yellow' } },
      yellow: { after: { 3_000: 'red' } },
      red: {
        initial: 'walk',
        onDone: 'green',
        states: { walk: { after: { 12_000: 'wait' } }, wait: { after: { 8_000: 'stop' } }, stop: { type: 'final' } },
      },
    },
  },
  {
    id: 'fetch',
    initial: 'idle',
    states: {
      idle: { on: { FETCH: 'loading' } },
      loading: {
        invoke: { src: 'getUser', onDone: { target: 'success', actions: 'keepUser' }, onError: 'failure' },
        on: { CANCEL: 'idle' },
      },
      failure: {
        entry: 'countRetry',
        after: { 1_500: 'loading' },
        always: { guard: 'tooMany', target: 'givenUp' },
        on: { RETRY: 'loading' },
      },
      success: { type: 'final' },
      givenUp: { type: 'final' },
    },
  },
  {
    id: 'stopwatch',
    initial: 'stopped',
    on: { RESET: { target: '.stopped', actions: 'clear' } },
    states: {
      stopped: { on: { START: 'running' } },
      running: {
        invoke: { src: 'ticker' },
        on: { TICK: { actions: 'add' }, STOP: 'stopped', LAP: { actions: ['note', 'beep'] } },
      },
    },
  },
  {
    id: 'todos',
    initial: 'loading',
    states: {
      loading: { invoke: { src: 'readTodos', onDone: 'ready', onError: 'ready' } },
      ready: {
        initial: 'idle',
        states: {
          idle: { on: { EDIT: 'editing', 'FILTER.*': { actions: 'filter' } } },
          editing: { on: { COMMIT: { target: 'idle', actions: 'save' }, ESCAPE: 'idle' }, exit: 'blur' },
        },
        on: {
          ADD: { guard: 'isNotEmpty', actions: ['add', 'persist'] },
          REMOVE: { actions: 'remove' },
          CLEAR: { actions: 'clear' },
        },
      },
    },
  },
  {
    id: 'wizard',
    initial: 'account',
    states: {
      account: { on: { NEXT: 'address' } },
      address: { on: { NEXT: 'payment', BACK: 'account' } },
      payment: {
        on: {
          NEXT: [
            { guard: 'isFree', target: 'review' },
            { guard: 'cardIsValid', target: 'review' },
            { actions: 'showError' },
          ],
          BACK: 'address',
        },
      },
      review: { on: { SUBMIT: 'sending', BACK: 'payment' } },
      sending: { invoke: { src: 'submit', onDone: 'thanks', onError: { target: 'review', actions: 'showError' } } },
      thanks: { type: 'final' },
    },
  },
  {
    id: 'text-editor',
    type: 'parallel',
    states: {
      bold: { initial: 'off', states: { off: { on: { BOLD: 'on' } }, on: { on: { BOLD: 'off' } } } },
      italic: { initial: 'off', states: { off: { on: { ITALIC: 'on' } }, on: { on: { ITALIC: 'off' } } } },
      underline: { initial: 'off', states: { off: { on: { UNDERLINE: 'on' } }, on: { on: { UNDERLINE: 'off' } } } },
      list: {
        initial: 'none',
        states: {
          none: { on: { BULLETS: 'bullets', NUMBERS: 'numbers' } },
          bullets: { on: { NONE: 'none', NUMBERS: 'numbers' } },
          numbers: { on: { NONE: 'none', BULLETS: 'bullets' } },
        },
      },
    },
  },
  {
    id: 'player',
    initial: 'mini',
    states: {
      mini: { on: { EXPAND: 'full' } },
      full: {
        type: 'parallel',
        on: { SHRINK: 'mini', ESCAPE: 'mini' },
        states: {
          video: {
            initial: 'paused',
            states: {
              paused: { on: { PLAY: 'playing' } },
              playing: { on: { PAUSE: 'paused', END: 'ended' }, invoke: { src: 'progress' } },
              ended: { on: { PLAY: 'playing' } },
            },
          },
          sound: {
            initial: 'normal',
            states: {
              normal: { on: { MUTE: 'muted', VOLUME: { actions: 'setVolume' } } },
              muted: { on: { UNMUTE: 'normal' } },
            },
          },
        },
      },
    },
  },
  {
    id: 'drag',
    initial: 'idle',
    states: {
      idle: { on: { 'pointer.down': { target: 'dragging', actions: assign({ x: 0, y: 0 }) } } },
      dragging: {
        on: {
          'pointer.move': { actions: 'follow' },
          'pointer.up': { target: 'idle', actions: 'drop' },
          'key.escape': { target: 'idle', actions: 'reset' },
        },
      },
    },
  },
  {
    id: 'autocomplete',
    initial: 'idle',
    states: {
      idle: { on: { FOCUS: 'waiting' } },
      waiting: { on: { TYPE: { target: 'debouncing', actions: 'keep' }, BLUR: 'idle' } },
      debouncing: {
        on: { TYPE: { target: 'debouncing', reenter: true, actions: 'keep' } },
        after: { 250: 'searching' },
      },
      searching: {
        invoke: {
          src: 'search',
          onDone: { target: 'showing', actions: 'show' },
          onError: { target: 'waiting', actions: 'warn' },
        },
        on: { TYPE: 'debouncing' },
      },
      showing: {
        on: {
          TYPE: 'debouncing',
          PICK: { target: 'idle', actions: ['choose', 'close'] },
          BLUR: 'idle',
          UP: { actions: 'up' },
          DOWN: { actions: 'down' },
        },
      },
    },
  },
  {
    id: 'elevator',
    initial: 'still',
    states: {
      still: {
        on: {
          CALL: [
            { guard: 'isAbove', target: 'moving.up' },
            { guard: 'isBelow', target: 'moving.down' },
            { target: 'doors' },
          ],
        },
      },
      moving: {
        initial: 'up',
        states: { up: { on: { FLOOR: { actions: 'count' } } }, down: { on: { FLOOR: { actions: 'count' } } } },
        on: { ARRIVED: 'doors', ALARM: 'emergency' },
      },
      doors: {
        initial: 'opening',
        states: {
          opening: { after: { 2_000: 'open' } },
          open: { after: { 5_000: 'closing' }, on: { HOLD: { target: 'open', reenter: true } } },
          closing: { on: { BLOCKED: 'opening' }, after: { 2_000: 'closed' } },
          closed: { type: 'final' },
        },
        onDone: 'still',
      },
      emergency: { tags: ['alarm'], on: { RESET: 'still' } },
    },
  },
  {
    id: 'atm',
    initial: 'idle',
    states: {
      idle: { on: { CARD: 'pin' } },
      pin: {
        on: {
          PIN: [{ guard: 'isRight', target: 'menu' }, { guard: 'isThirdTry', target: 'kept' }, { actions: 'countTry' }],
          CANCEL: 'returning',
        },
      },
      menu: { on: { WITHDRAW: 'amount', BALANCE: 'balance', CANCEL: 'returning' } },
      balance: { invoke: { src: 'readBalance', onDone: 'menu', onError: 'returning' } },
      amount: {
        on: { AMOUNT: { guard: and(['isEnough', not('isOverLimit')]), target: 'paying' }, CANCEL: 'returning' },
      },
      paying: { invoke: { src: 'pay', onDone: 'returning', onError: { target: 'returning', actions: 'apologise' } } },
      returning: { after: { 10_000: 'kept' }, on: { TAKEN: 'idle' } },
      kept: { entry: 'callBank', after: { 60_000: 'idle' } },
    },
  },
  {
    id: 'login',
    initial: 'form',
    states: {
      form: {
        initial: 'empty',
        states: {
          empty: { on: { TYPE: 'valid' } },
          valid: { on: { SUBMIT: '#login.checking', CLEAR: 'empty' } },
          wrong: { on: { TYPE: 'valid' }, tags: 'error' },
          hist: { type: 'history' },
        },
      },
      checking: {
        invoke: {
          id: 'login-time',
          src: 'logIn',
          onDone: [{ guard: 'needsCode', target: 'code' }, { target: 'inside' }],
          onError: 'form.wrong',
        },
      },
      code: { on: { CODE: 'checking', BACK: 'form.hist' }, after: { 300_000: 'form' } },
      inside: { on: { LOGOUT: 'form' }, after: { 1_800_000: 'form' } },
    },
  },
  {
    id: 'upload',
    initial: 'choosing',
    states: {
      choosing: { on: { FILES: { guard: 'fits', target: 'uploading' } } },
      uploading: {
        entry: 'start',
        exit: 'stop',
        invoke: [
          { id: 'sender', src: 'upload', onDone: 'checking', onError: 'broken' },
          { id: 'clock', src: 'timer' },
        ],
        on: { PROGRESS: { actions: 'show' }, PAUSE: 'paused', CANCEL: 'choosing' },
      },
      paused: { on: { RESUME: 'uploading', CANCEL: 'choosing' } },
      checking: { always: [{ guard: 'isWhole', target: 'done' }, { target: 'broken' }] },
      broken: { on: { RETRY: 'uploading' } },
      done: { type: 'final' },
    },
  },
  {
    id: 'checkout',
    initial: 'cart',
    states: {
      cart: {
        on: {
          ADD: { actions: 'add' },
          REMOVE: { actions: 'remove' },
          CHECKOUT: { guard: 'hasItems', target: 'paying' },
        },
      },
      paying: {
        initial: 'method',
        states: {
          method: { on: { CARD: 'card', INVOICE: 'invoice' } },
          card: { invoke: { src: 'authorise', onDone: 'paid', onError: 'method' } },
          invoice: { on: { CONFIRM: 'paid' } },
          paid: { type: 'final' },
        },
        on: { ABORT: 'cart' },
        onDone: 'shipping',
      },
      shipping: {
        type: 'parallel',
        states: {
          parcel: {
            initial: 'packing',
            states: {
              packing: { on: { PACKED: 'sent' } },
              sent: { on: { ARRIVED: 'there' } },
              there: { type: 'final' },
            },
          },
          mail: {
            initial: 'writing',
            states: { writing: { invoke: { src: 'mail', onDone: 'told' } }, told: { type: 'final' } },
          },
        },
        onDone: 'thanks',
      },
      thanks: { type: 'final' },
    },
  },
  {
    id: 'tictactoe',
    initial: 'playing',
    states: {
      playing: {
        always: [
          { guard: 'hasWon', target: 'won' },
          { guard: 'isFull', target: 'draw' },
        ],
        on: { PLAY: { guard: 'isFree', actions: ['place', 'next'] } },
      },
      won: { entry: 'celebrate', on: { RESET: 'playing' } },
      draw: { on: { RESET: 'playing' } },
    },
  },
  {
    id: 'counter',
    context: { count: 0 },
    on: {
      UP: { actions: assign({ count: 1 }) },
      DOWN: { guard: 'isPositive', actions: 'down' },
      SET: { actions: 'set' },
    },
  },
  {
    id: 'circuit',
    initial: 'closed',
    states: {
      closed: {
        on: { FAIL: [{ guard: 'overThreshold', target: 'open' }, { actions: 'count' }], OK: { actions: 'forget' } },
      },
      open: { entry: 'reject', after: { cooldown: 'half-open' }, on: { CALL: {} } },
      'half-open': { on: { OK: 'closed', FAIL: 'open' } },
    },
  },
  {
    id: 'watch',
    initial: 'time',
    states: {
      time: { on: { A: 'alarm', C: 'settings', D: { actions: 'light' } } },
      alarm: {
        initial: 'off',
        states: { off: { on: { D: 'on' } }, on: { on: { D: 'off' } }, hist: { type: 'history' } },
        on: { A: 'stopwatch' },
      },
      stopwatch: {
        type: 'parallel',
        states: {
          run: { initial: 'stopped', states: { stopped: { on: { B: 'going' } }, going: { on: { B: 'stopped' } } } },
          display: { initial: 'regular', states: { regular: { on: { D: 'lap' } }, lap: { on: { D: 'regular' } } } },
        },
        on: { A: 'time' },
      },
      settings: {
        initial: 'hours',
        states: {
          hours: { on: { C: 'minutes', D: { actions: 'hour' } } },
          minutes: { on: { C: 'seconds', D: { actions: 'minute' } } },
          seconds: { on: { C: '#watch.time', D: { actions: 'zero' } } },
          last: { type: 'history', history: 'deep' },
        },
        after: { 120_000: 'time' },
      },
    },
  },
  {
    id: 'vending',
    initial: 'ready',
    states: {
      ready: { on: { COIN: { target: 'paying', actions: 'add' } } },
      paying: {
        on: {
          COIN: { actions: 'add' },
          SELECT: [
            { guard: 'isSoldOut', actions: 'blink' },
            { guard: 'isEnough', target: 'serving' },
            { actions: 'ask' },
          ],
          REFUND: { target: 'ready', actions: 'giveBack' },
        },
      },
      serving: { after: { 4_000: { target: 'ready', actions: 'change' } } },
    },
  },
  {
    id: 'microwave',
    type: 'parallel',
    states: {
      door: { initial: 'closed', states: { closed: { on: { OPEN: 'open' } }, open: { on: { CLOSE: 'closed' } } } },
      engine: {
        initial: 'idle',
        states: {
          idle: { on: { START: { guard: stateIn({ door: 'closed' }), target: 'cooking' } } },
          cooking: {
            on: { OPEN: 'held', DONE: 'idle', TICK: { actions: 'count' } },
            after: { 1_000: { target: 'cooking', reenter: true } },
          },
          held: { on: { CLOSE: 'cooking', CANCEL: 'idle' } },
        },
      },
    },
  },
  {
    id: 'chat',
    initial: 'offline',
    states: {
      offline: { on: { CONNECT: 'connecting' } },
      connecting: { invoke: { src: 'socket', onDone: 'online', onError: 'waiting' } },
      online: {
        type: 'parallel',
        on: { LOST: 'waiting', QUIT: 'offline' },
        states: {
          typing: {
            initial: 'quiet',
            states: {
              quiet: { on: { KEY: 'writing' } },
              writing: {
                on: { SEND: { target: 'quiet', actions: sendTo('socket', { type: 'TEXT' }) } },
                after: { 3_000: 'quiet' },
              },
            },
          },
          presence: {
            initial: 'here',
            states: { here: { after: { 300_000: 'away' } }, away: { on: { KEY: 'here' } } },
          },
        },
      },
      waiting: { after: { backoff: 'connecting' }, on: { QUIT: 'offline' } },
    },
  },
  {
    id: 'game',
    initial: 'title',
    states: {
      title: { on: { START: 'level', OPTIONS: 'options' } },
      options: { on: { BACK: 'title' } },
      level: {
        initial: 'running',
        states: {
          running: {
            on: {
              PAUSE: 'paused',
              HIT: [
                { guard: 'isLast', target: '#game.over' },
                { target: 'invulnerable', actions: 'lose' },
              ],
            },
          },
          invulnerable: { after: { 2_000: 'running' }, on: { HIT: {}, PAUSE: 'paused' } },
          paused: { on: { RESUME: 'hist', QUIT: '#game.title' } },
          hist: { type: 'history', target: 'running' },
        },
        on: {
          CLEARED: [
            { guard: 'isFinal', target: 'won' },
            { target: 'level', reenter: true },
          ],
        },
      },
      over: { on: { AGAIN: 'level', QUIT: 'title' } },
      won: { after: { 15_000: 'title' } },
    },
  },
  {
    id: 'thermostat',
    initial: 'off',
    states: {
      off: { on: { POWER: 'on' } },
      on: {
        initial: 'idle',
        on: { POWER: 'off', TEMPERATURE: { actions: 'measure' } },
        states: {
          idle: {
            always: [
              { guard: 'isCold', target: 'heating' },
              { guard: 'isHot', target: 'cooling' },
            ],
          },
          heating: { entry: 'fireOn', exit: 'fireOff', always: { guard: 'isWarm', target: 'idle' } },
          cooling: { entry: 'fanOn', exit: 'fanOff', always: { guard: 'isCool', target: 'idle' } },
        },
      },
    },
  },
  {
    id: 'promise',
    initial: 'pending',
    states: {
      pending: { on: { RESOLVE: 'fulfilled', REJECT: 'rejected' } },
      fulfilled: { type: 'final' },
      rejected: { type: 'final' },
    },
  },
  {
    id: 'phone',
    initial: 'onHook',
    states: {
      onHook: { on: { LIFT: 'dialTone', RING: 'ringing' } },
      ringing: { entry: 'bell', on: { LIFT: 'talking', STOP: 'onHook' } },
      offHook: { initial: 'x', states: { x: {} } },
      dialTone: { on: { DIGIT: 'dialling', HANG: 'onHook' }, after: { 20_000: 'warning' } },
      dialling: {
        on: {
          DIGIT: [
            { guard: 'isComplete', target: 'calling' },
            { target: 'dialling', reenter: true, actions: 'add' },
          ],
          HANG: 'onHook',
        },
      },
      calling: { on: { ANSWER: 'talking', BUSY: 'busy', HANG: 'onHook' } },
      busy: { on: { HANG: 'onHook' } },
      talking: { on: { HANG: 'onHook', OTHER_HANGS: 'busy', HOLD: 'held' } },
      held: { on: { RESUME: 'talking', HANG: 'onHook' } },
      warning: { on: { HANG: 'onHook' } },
    },
  },
  {
    id: 'payment',
    initial: 'created',
    states: {
      created: { on: { AUTHORISE: 'authorising' } },
      authorising: {
        invoke: {
          src: 'authorise',
          onDone: [{ guard: 'needsProof', target: 'proving' }, { target: 'authorised' }],
          onError: [{ guard: 'mayRetry', target: 'authorising', reenter: true }, { target: 'declined' }],
        },
      },
      proving: { on: { PROVEN: 'authorised', FAILED: 'declined' }, after: { 900_000: 'expired' } },
      authorised: { on: { CAPTURE: 'capturing', VOID: 'voided' }, after: { 604_800_000: 'voided' } },
      capturing: { invoke: { src: 'capture', onDone: 'captured', onError: 'authorised' } },
      captured: { on: { REFUND: 'refunding', DISPUTE: 'disputed' } },
      refunding: { invoke: { src: 'refund', onDone: 'refunded', onError: 'captured' } },
      disputed: { on: { WON: 'captured', LOST: 'refunded' } },
      refunded: { type: 'final' },
      declined: { type: 'final' },
      voided: { type: 'final' },
      expired: { type: 'final' },
    },
  },
  {
    id: 'robot',
    initial: 'standing',
    states: {
      standing: { on: { WALK: 'walking', JUMP: 'jumping', SIT: 'sitting' } },
      walking: { on: { STOP: 'standing', RUN: 'running' } },
      running: { on: { SLOW: 'walking', JUMP: 'jumping' } },
      jumping: { after: { 800: 'standing' } },
      sitting: { on: { STAND: 'standing' } },
    },
  },
  {
    id: 'form',
    type: 'parallel',
    states: {
      name: {
        initial: 'pristine',
        states: {
          pristine: { on: { 'name.change': 'checking' } },
          checking: { always: [{ guard: 'nameIsOk', target: 'ok' }, { target: 'bad' }] },
          ok: { on: { 'name.change': 'checking' } },
          bad: { on: { 'name.change': 'checking' }, tags: ['invalid'] },
        },
      },
      mail: {
        initial: 'pristine',
        states: {
          pristine: { on: { 'mail.change': 'checking' } },
          checking: { invoke: { src: 'checkMail', onDone: 'ok', onError: 'bad' } },
          ok: {},
          bad: { tags: ['invalid'], on: { 'mail.change': 'checking' } },
        },
      },
      submit: {
        initial: 'idle',
        states: {
          idle: { on: { SUBMIT: { guard: 'isValid', target: 'sending' } } },
          sending: { invoke: { src: 'send', onDone: 'sent', onError: 'idle' } },
          sent: { type: 'final' },
        },
      },
    },
    on: { RESET: { target: ['.name.pristine', '.mail.pristine', '.submit.idle'] } },
  },
  {
    id: 'alarm-clock',
    initial: 'unarmed',
    states: {
      unarmed: { on: { ARM: 'armed' } },
      armed: {
        initial: 'waiting',
        on: { DISARM: 'unarmed' },
        states: {
          waiting: { after: { untilMorning: 'ringing' } },
          ringing: { entry: 'ring', exit: 'silence', on: { SNOOZE: 'snoozing' } },
          snoozing: { after: { 540_000: 'ringing' } },
        },
      },
    },
  },
  {
    id: 'media-scan',
    initial: 'root',
    states: {
      root: {
        initial: 'a',
        states: {
          a: {
            initial: 'b',
            states: {
              b: {
                initial: 'c',
                states: {
                  c: { on: { UP: '#media-scan.root', OUT: '#media-scan.end', NEXT: 'd' } },
                  d: { on: { BACK: 'c', TOP: '#media-scan.root.a' } },
                },
              },
            },
          },
        },
        on: { RESTART: { target: 'root', reenter: true } },
      },
      end: { type: 'final' },
    },
  },
  {
    id: 'login-time',
    initial: 'active',
    states: {
      active: {
        on: { '*': { actions: 'touch' }, 'api.*': { actions: raise({ type: 'CALL' }) }, EXPIRE: 'warned' },
        after: { 840_000: 'warned' },
      },
      warned: { on: { STAY: 'active', LEAVE: 'ended', '*': {} }, after: { 60_000: 'ended' } },
      ended: {
        entry: ['clear', 'redirect', { type: 'track', params: { event: 'timeout', ms: 60_000 } }],
        type: 'final',
      },
    },
  },
  {
    id: 'pipeline',
    initial: 'checkout',
    states: {
      checkout: { invoke: { src: 'clone', onDone: 'verify', onError: 'failed' } },
      verify: {
        type: 'parallel',
        onDone: 'deploy',
        states: {
          lint: {
            initial: 'run',
            states: {
              run: { invoke: { src: 'lint', onDone: 'ok', onError: '#pipeline.failed' } },
              ok: { type: 'final' },
            },
          },
          test: {
            initial: 'run',
            states: {
              run: {
                invoke: {
                  src: 'test',
                  onDone: 'ok',
                  onError: [{ guard: 'isFlaky', target: 'run', reenter: true }, { target: '#pipeline.failed' }],
                },
              },
              ok: { type: 'final' },
            },
          },
          build: {
            initial: 'run',
            states: {
              run: { invoke: { src: 'build', onDone: 'ok', onError: '#pipeline.failed' } },
              ok: { type: 'final' },
            },
          },
        },
      },
      deploy: {
        initial: 'canary',
        states: {
          canary: { after: { 600_000: 'all' }, on: { ALARM: 'rollback' } },
          all: { invoke: { src: 'roll', onDone: '#pipeline.done', onError: 'rollback' } },
          rollback: { invoke: { src: 'rollback', onDone: '#pipeline.failed' } },
        },
      },
      done: { type: 'final' },
      failed: { on: { RETRY: 'checkout' } },
    },
  },
  {
    id: 'approval',
    initial: 'draft',
    states: {
      draft: { on: { SUBMIT: 'review' } },
      review: {
        initial: 'lead',
        states: {
          lead: { on: { APPROVE: [{ guard: 'isBig', target: 'board' }, { target: '#approval.approved' }] } },
          board: { on: { APPROVE: '#approval.approved' } },
        },
        on: { REJECT: 'draft', WITHDRAW: 'withdrawn' },
        after: { 259_200_000: { target: 'draft', actions: 'remind' } },
      },
      approved: { type: 'final' },
      withdrawn: { type: 'final' },
    },
  },
  {
    id: 'carousel',
    initial: 'first',
    states: {
      first: { on: { NEXT: 'middle', LAST: 'last' } },
      middle: {
        on: {
          NEXT: [
            { guard: 'isNextLast', target: 'last' },
            { target: 'middle', actions: 'move' },
          ],
          PREVIOUS: [
            { guard: 'isNextFirst', target: 'first' },
            { target: 'middle', actions: 'back' },
          ],
        },
      },
      last: { on: { PREVIOUS: 'middle', FIRST: 'first' } },
    },
  },
  {
    id: 'bulb',
    initial: 'unlit',
    on: { BREAK: '.broken' },
    states: {
      unlit: { on: { TOGGLE: 'lit' } },
      lit: { on: { TOGGLE: 'unlit' } },
      broken: { entry: 'log', on: { TOGGLE: {}, BREAK: {} } },
    },
  },
  {
    id: 'saga',
    initial: 'flight',
    states: {
      flight: { invoke: { src: 'bookFlight', onDone: 'hotel', onError: 'failed' } },
      hotel: { invoke: { src: 'bookHotel', onDone: 'car', onError: 'undoFlight' } },
      car: { invoke: { src: 'bookCar', onDone: 'booked', onError: 'undoHotel' } },
      undoHotel: { invoke: { src: 'cancelHotel', onDone: 'undoFlight' } },
      undoFlight: { invoke: { src: 'cancelFlight', onDone: 'failed' } },
      booked: { type: 'final' },
      failed: { type: 'final' },
    },
  },
  {
    id: 'subscription',
    initial: 'trial',
    states: {
      trial: { after: { 1_209_600_000: 'paying' }, on: { CANCEL: 'ended' } },
      paying: { invoke: { src: 'charge', onDone: 'active', onError: 'dunning' } },
      active: {
        initial: 'renewing',
        states: {
          renewing: { on: { CANCEL: 'leaving' } },
          leaving: { on: { RESUME: 'renewing' }, tags: ['to the end of the month'] },
        },
        after: { month: [{ guard: 'isLeaving', target: 'ended' }, { target: 'paying' }] },
      },
      dunning: {
        entry: 'remind',
        after: { 259_200_000: [{ guard: 'isThird', target: 'ended' }, { target: 'paying' }] },
        on: { PAID: 'active' },
      },
      ended: { type: 'final' },
    },
  },
  {
    id: 'coffee',
    initial: 'standby',
    description:
      'Coffee from beans, with a grinder, a boiler and a pump, and what can go wrong with each of them on a Monday',
    states: {
      standby: { on: { ON: 'heating' }, description: 'All is cold' },
      heating: { invoke: { src: 'boiler', onDone: 'ready', onError: 'fault' } },
      ready: { on: { ESPRESSO: 'brewing', LUNGO: 'brewing', OFF: 'standby' }, after: { 1_200_000: 'standby' } },
      brewing: {
        type: 'parallel',
        onDone: 'ready',
        states: {
          grind: { initial: 'on', states: { on: { after: { 6_000: 'off' } }, off: { type: 'final' } } },
          pump: {
            initial: 'soak',
            states: {
              soak: { after: { 7_000: 'press' } },
              press: { after: { 25_000: 'end' } },
              end: { type: 'final' },
            },
          },
        },
      },
      fault: { tags: ['error', 'needs a person'], on: { RESET: 'standby' } },
    },
  },
  {
    id: 'names-as-long-as-they-come',
    initial: 'waitingForTheConfirmationOfTheSecondFactorByTheUser',
    states: {
      waitingForTheConfirmationOfTheSecondFactorByTheUser: {
        on: {
          'user.visit.second-factor.confirmed.by.application.on.another.device': {
            guard: 'theDeviceIsKnownAndHasBeenSeenWithinTheLastThirtyDaysOrSo',
            target: 'b',
            actions: ['rememberTheDeviceForTheNextThirtyDaysUnlessItIsRevoked', 'x'],
          },
        },
      },
      b: { on: { 'a/b c:d;e': 'ü 漢字 🚀', '“quoted”': 'waitingForTheConfirmationOfTheSecondFactorByTheUser' } },
      'ü 漢字 🚀': { tags: ['ein sehr langes Schild, das nicht endet', 'zwei', 'drei', 'vier', 'fünf', 'sechs'] },
    },
  },
  { id: 'empty' },
  { id: 'one', initial: 'alone', states: { alone: {} } },
  { id: 'islands', initial: 'a', states: { a: {}, b: {}, c: {}, d: { initial: 'e', states: { e: {}, f: {} } } } },
  {
    id: 'many-events',
    initial: 'a',
    states: {
      a: {
        on: Object.fromEntries(Array.from({ length: 14 }, (_, index) => [`EVENT_${index}`, 'b'])),
        entry: Array.from({ length: 9 }, (_, index) => `act${index}`),
      },
      b: { on: { BACK: { target: 'a', actions: Array.from({ length: 9 }, (_, index) => `act${index}`) } } },
    },
  },
]

export const knownCharts: readonly AnyStateMachine[] = configs.map((config) => createMachine(config))
