import{g as h}from"./chunk-RLH3V6A7.js";function i({route:o}){return h("h1",{children:["How much?",o.id&&`: ${o.id}`]})}export{i as default};
