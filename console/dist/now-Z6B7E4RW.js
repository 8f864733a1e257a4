import{g as i}from"./chunk-RLH3V6A7.js";function p({route:o}){return i("h1",{children:["Now",o.id&&`: ${o.id}`]})}export{p as default};
